"""A leader whose server is cut off from the ensemble is out of office before anybody else takes it."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from cutoff import LIBRARIES, CutOff, Plan, table  # noqa: E402

LONG = bool(os.environ.get("TENURE_TEST_LONG"))
RUNS = 20 if LONG else 1
LEASES = (4000, 6000, 10000, 20000)


class RealTick(CutOff):
    """tickTime 2000 and syncLimit 5: the follower goes on for 10 s."""

    tick_time = 2000

    def test_quiet_cut(self):
        """Beside candidates of kazoo and Curator, whose overlap shows that the scene is the dangerous one."""
        for run in range(RUNS):
            plans = [Plan(t, self.tick_time, fenced=(place + run) % 2 == 1) for place, t in enumerate(LEASES)]
            for plan in plans if run == 0 else ():
                self.check_refused(plan)
            outcomes, overlaps = self.check_cut(plans, LIBRARIES)
            print(table(outcomes, overlaps), flush=True)
            self.assertTrue(all(outcome.in_office for outcome in outcomes))
            self.assertGreater(max(overlap[4000] for overlap in overlaps.values()), 0, "no danger, no proof")

    def test_cut_after_a_stall(self):
        """
        So long a stall that other connections were tried. When it is over, the newest attempt gets through and its
        heartbeats are committed at once; then comes the cut. Short leases outlast that only with little slack.
        """
        for _ in range(RUNS):
            plans = [
                Plan(4000, self.tick_time, stall=0.6, ping_slack=25, heartbeat=20),
                Plan(6000, self.tick_time, stall=0.6, ping_slack=100, heartbeat=100),
                Plan(10000, self.tick_time, stall=0.6, heartbeat=100),
                Plan(20000, self.tick_time, stall=0.6, heartbeat=100),
            ]
            outcomes, _ = self.check_cut(plans)
            # On a busy machine one may be too late for a lease that ends right behind the stall.
            self.assertGreaterEqual(sum(outcome.in_office for outcome in outcomes), 2, "too few to show anything")

    def test_cut_after_a_short_stall(self):
        """
        The connection is kept: several heartbeats are committed within an instant, before the follower has passed on
        that it has heard of its clients. The last commit, or the last answer, says too little of the session.
        """
        for _ in range(RUNS):
            outcomes, _ = self.check_cut([Plan(t, self.tick_time, stall=0.18, heartbeat=t // 80) for t in LEASES])
            self.assertTrue(all(outcome.in_office for outcome in outcomes))


class FastTick(CutOff):
    """The same with short times: here too the follower goes on for longer than the lease."""

    tick_time = 200
    ensemble_options = ("syncLimit=20",)

    def test_cuts(self):
        for run in range(RUNS):
            self.check_cut([Plan(2000, self.tick_time, ping_slack=50, fenced=run % 2 == 1)])
            self.check_cut([Plan(2000, self.tick_time, stall=0.6, ping_slack=50, heartbeat=20)])


if __name__ == "__main__":
    unittest.main()
