"""Plants every fault that the oracle must find, and sees that it finds it and nothing in clean timelines."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__))))

from tenuretest.oracle import PROMISES, Oracle  # noqa: E402
from tenuretest.timeline import parse  # noqa: E402

MS = 1_000_000


class Story:
    """A timeline in the making; instants in ms."""

    def __init__(self):
        self.lines = []
        self.pid = 100

    def start(self, at, hook, member, token=0, planned="yes", deadline=None, **fields):
        self.pid += 1
        if deadline is None:
            deadline = at + 2000
        words = {"hook": hook, "election": "demo", "member": member, "pid": self.pid, "token": token,
                 "planned": planned, "deadline_ms": deadline or "", "overlaps": 0} | fields  # fmt: skip
        pairs = " ".join(f"{key}={value}" for key, value in words.items() if value is not None)
        self.lines.append(f"{at * MS} start {pairs}")
        return self.pid

    def end(self, at, hook, member, pid, **fields):
        words = {"hook": hook, "election": "demo", "member": member, "pid": pid} | (fields or {"exit": 0})
        self.lines.append(f"{at * MS} end " + " ".join(f"{key}={value}" for key, value in words.items()))

    def hook(self, begin, finish, hook, member, token=0, **fields):
        """A hook that runs from BEGIN to FINISH; `exit` or `signal` are for its end."""
        end = {key: fields.pop(key) for key in ("exit", "signal") if key in fields}
        pid = self.start(begin, hook, member, token, **fields)
        self.end(finish, hook, member, pid, **end)

    def killed(self, at, member):
        self.lines.append(f"{at * MS} killed member={member}")

    def faults(self, **options):
        return Oracle(**options).check(parse("".join(line + "\n" for line in self.lines)))


def two_terms():
    """a leads by token 5 and hands over; b leads by 7 and stops."""
    story = Story()
    story.hook(0, 5, "lose", "a", "", reason="startup", deadline=0)
    story.hook(10, 20, "gain", "a", 5)
    story.hook(100, 120, "lose", "a", 5)
    story.hook(121, 130, "gain", "b", 7)
    story.hook(200, 210, "lose", "b", 7)
    return story


def unclean_story():
    """a dies in office."""
    story = Story()
    story.hook(0, 5, "gain", "a", 5)
    story.killed(100, "a")
    return story


def fencing_story():
    story = unclean_story()
    peer = {"previous": "a", "previous_token": 5, "previous_clean": "no"}
    story.hook(2000, 2100, "fence_peer", "b", 5, exit=1, **peer)
    story.hook(2200, 2300, "fence_peer", "b", 5, **peer)
    story.killed(2310, "b")
    story.hook(2400, 2405, "gain", "c", 7, **peer)
    story.hook(3000, 3005, "lose", "c", 7)
    return story


class Clean(unittest.TestCase):
    def assert_clean(self, story, **options):
        self.assertEqual(story.faults(**options), [])

    def test_handoff(self):
        self.assert_clean(two_terms())

    def test_empty(self):
        self.assert_clean(Story())

    def test_killed_agent_leaves_office(self):
        story = Story()
        story.hook(0, 5, "gain", "a", 5)
        story.killed(100, "a")
        story.hook(2000, 2005, "gain", "b", 6)
        story.hook(3000, 3005, "lose", "b", 6)
        self.assert_clean(story)

    def test_fence_ends_what_lose_could_not(self):
        story = Story()
        story.hook(0, 5, "gain", "a", 5)
        story.start(1000, "lose", "a", 5, planned="no", deadline=2000)  # killed: it leaves no end
        story.hook(1500, 1600, "fence", "a", 5, planned="no", deadline=2000)
        story.hook(2200, 2210, "gain", "b", 6)
        story.hook(2300, 2310, "lose", "b", 6)
        self.assert_clean(story)

    def test_notify_may_overlap(self):
        story = two_terms()
        story.hook(15, 110, "notify", "a", 5)
        self.assert_clean(story)

    def test_elections_are_apart(self):
        story = Story()
        story.hook(0, 5, "gain", "a", 5, election="one")
        story.hook(1, 6, "gain", "b", 4, election="two")
        story.killed(10, "a")
        story.killed(10, "b")
        self.assert_clean(story)

    def test_forced_and_in_time(self):
        story = Story()
        story.hook(0, 5, "gain", "a", 5)
        story.hook(1000, 1999, "lose", "a", 5, planned="no", deadline=2000)
        self.assert_clean(story)

    def test_fenced(self):
        """b fails, then succeeds, and dies; c, which finds that said in the record, leads."""
        self.assert_clean(fencing_story(), fencing=("b", "c"))

    def test_not_to_be_fenced(self):
        story = unclean_story()
        story.hook(3000, 3005, "gain", "a", 6, previous="a", previous_token=5, previous_clean="no")
        story.hook(4000, 4005, "lose", "a", 6)
        story.hook(4010, 4015, "gain", "b", 7, previous="a", previous_token=6, previous_clean="yes")
        story.hook(5000, 5005, "lose", "b", 7)
        self.assert_clean(story, fencing=("a", "b"))

    def test_unfenced_without_the_hook(self):
        story = unclean_story()
        story.hook(3000, 3005, "gain", "b", 6, previous="a", previous_token=5, previous_clean="no")
        story.hook(4000, 4005, "lose", "b", 6)
        self.assert_clean(story, fencing=("a",))

    def test_failed_gain(self):
        story = Story()
        story.hook(0, 5, "gain", "a", 5, exit=1)
        story.hook(6, 8, "lose", "a", 5, planned="no")
        story.hook(9, 12, "gain", "b", 6, exit=0)
        story.hook(20, 21, "lose", "b", 6)
        self.assert_clean(story)


class Planted(unittest.TestCase):
    def assert_caught(self, story, promise, text, **options):
        faults = story.faults(**options)
        self.assertTrue([fault for fault in faults if fault.startswith(promise + ":") and text in fault], faults)
        others = [other for other in PROMISES if other != promise]
        faults = story.faults(**options | {"promises": others})
        self.assertFalse([fault for fault in faults if fault.startswith(promise)])

    def test_two_leaders(self):
        story = Story()
        story.hook(0, 5, "gain", "a", 5)
        story.hook(50, 55, "gain", "b", 6)
        story.hook(100, 105, "lose", "a", 5)
        story.hook(100, 105, "lose", "b", 6)
        self.assert_caught(story, "S1", "a is in office")

    def test_gain_before_the_end_of_lose(self):
        story = Story()
        story.hook(0, 5, "gain", "a", 5)
        story.hook(100, 120, "lose", "a", 5)
        story.hook(119, 130, "gain", "b", 6)
        story.hook(200, 201, "lose", "b", 6)
        self.assert_caught(story, "S1", "a is in office")

    def test_gain_while_the_other_promotes(self):
        story = Story()
        story.hook(0, 100, "gain", "a", 5)
        story.hook(50, 60, "gain", "b", 6)
        story.killed(200, "a")
        story.killed(200, "b")
        self.assert_caught(story, "S1", "a is in office")

    def test_a_failed_lose_does_not_end_office(self):
        story = Story()
        story.hook(0, 5, "gain", "a", 5)
        story.hook(100, 120, "lose", "a", 5, exit=1)
        story.hook(130, 140, "gain", "b", 6)
        story.killed(200, "a")
        story.killed(200, "b")
        self.assert_caught(story, "S1", "a is in office")

    def test_a_lose_killed_by_a_signal_does_not_end_office(self):
        story = Story()
        story.hook(0, 5, "gain", "a", 5)
        story.hook(100, 120, "lose", "a", 5, signal=15)
        story.hook(130, 140, "gain", "b", 6)
        story.killed(200, "a")
        story.killed(200, "b")
        self.assert_caught(story, "S1", "a is in office")

    def test_gain_twice(self):
        story = Story()
        story.hook(0, 5, "gain", "a", 5)
        story.hook(50, 55, "gain", "a", 6)
        story.hook(100, 105, "lose", "a", 6)
        self.assert_caught(story, "S1", "without a lose")

    def test_token_goes_back(self):
        story = two_terms()
        story.hook(300, 310, "gain", "a", 6)
        story.hook(400, 410, "lose", "a", 6)
        self.assert_caught(story, "S2", "not above")

    def test_equal_tokens(self):
        story = two_terms()
        story.hook(300, 310, "gain", "a", 7)
        story.hook(400, 410, "lose", "a", 7)
        self.assert_caught(story, "S2", "not above")

    def test_token_not_set(self):
        story = two_terms()
        story.hook(300, 310, "follow", "a", None)
        self.assert_caught(story, "S2", "no token")

    def test_token_empty_at_gain(self):
        story = Story()
        story.hook(0, 5, "gain", "a", "")
        story.killed(10, "a")
        self.assert_caught(story, "S2", "no token")

    def test_token_not_a_number(self):
        story = two_terms()
        story.hook(300, 310, "notify", "a", "0x7")
        self.assert_caught(story, "S2", "no token")

    def test_demotion_with_another_token(self):
        story = Story()
        story.hook(0, 5, "gain", "a", 5)
        story.hook(100, 120, "lose", "a", 4)
        self.assert_caught(story, "S2", "not the token 5")

    def test_overlapping_hooks(self):
        story = two_terms()
        story.hook(90, 105, "follow", "a", 5)
        self.assert_caught(story, "S3", "overlaps")

    def test_overlap_that_the_hook_itself_saw(self):
        story = two_terms()
        story.hook(300, 310, "follow", "a", 5, overlaps=77)
        self.assert_caught(story, "S3", "pid 77")

    def test_overlapping_fence_peer(self):
        story = fencing_story()
        story.hook(2250, 2260, "follow", "b", 5)
        self.assert_caught(story, "S3", "overlaps", fencing=("b", "c"))

    def test_gain_without_fencing(self):
        story = unclean_story()
        story.hook(3000, 3005, "gain", "b", 6, previous="a", previous_token=5, previous_clean="no")
        story.hook(4000, 4005, "lose", "b", 6)
        self.assert_caught(story, "S4", "not been fenced", fencing=("b",))

    def test_gain_after_fencing_failed(self):
        for end in ({"exit": 1}, {"signal": 15}):
            story = unclean_story()
            peer = {"previous": "a", "previous_token": 5, "previous_clean": "no"}
            story.hook(2000, 2100, "fence_peer", "b", 5, **end, **peer)
            story.hook(3000, 3005, "gain", "b", 6, **peer)
            story.hook(4000, 4005, "lose", "b", 6)
            self.assert_caught(story, "S4", "not been fenced", fencing=("b",))

    def test_gain_before_fencing_has_ended(self):
        story = unclean_story()
        peer = {"previous": "a", "previous_token": 5, "previous_clean": "no"}
        story.hook(2000, 2100, "fence_peer", "b", 5, **peer)
        story.hook(2050, 2060, "gain", "b", 6, **peer)
        story.hook(4000, 4005, "lose", "b", 6)
        self.assert_caught(story, "S4", "not been fenced", fencing=("b",))

    def test_another_was_fenced(self):
        story = unclean_story()
        story.hook(2000, 2100, "fence_peer", "b", 4, previous="c", previous_token=4, previous_clean="no")
        story.hook(3000, 3005, "gain", "b", 6, previous="a", previous_token=5, previous_clean="no")
        story.hook(4000, 4005, "lose", "b", 6)
        self.assert_caught(story, "S4", "not been fenced", fencing=("b",))

    def test_unreadable_record_fenced_once(self):
        """What was fenced before one gain does not count for the next."""
        story = Story()
        unknown = {"previous": "", "previous_token": "", "previous_clean": "unknown"}
        story.hook(0, 5, "fence_peer", "b", "", **unknown)
        story.hook(10, 15, "gain", "b", 6, **unknown)
        story.hook(20, 25, "lose", "b", 6)
        self.assertEqual(story.faults(fencing=("b",)), [])
        story.hook(30, 35, "gain", "b", 7, **unknown)
        story.hook(40, 45, "lose", "b", 7)
        self.assert_caught(story, "S4", "not been fenced", fencing=("b",))

    def test_fences_itself(self):
        story = unclean_story()
        story.hook(200, 205, "fence_peer", "a", 5, previous="a", previous_token=5, previous_clean="no")
        self.assert_caught(story, "S4", "fences itself")

    def test_fences_who_left_cleanly(self):
        story = two_terms()
        story.hook(300, 305, "fence_peer", "a", 7, previous="b", previous_token=7, previous_clean="yes")
        self.assert_caught(story, "S4", "left cleanly")

    def test_lose_after_the_deadline(self):
        story = Story()
        story.hook(0, 5, "gain", "a", 5)
        story.hook(1500, 2001, "lose", "a", 5, planned="no", reason="lease", deadline=2000)
        self.assert_caught(story, "DEADLINE", "1.0 ms late")
        self.assertEqual(story.faults(late_reasons=("lease",)), [])

    def test_fence_after_the_deadline(self):
        story = Story()
        story.hook(0, 5, "gain", "a", 5)
        story.start(1500, "lose", "a", 5, planned="no", deadline=2000)
        story.hook(1900, 2100, "fence", "a", 5, planned="no", deadline=2000)
        self.assert_caught(story, "DEADLINE", "100.0 ms late")

    def test_gain_without_a_lease(self):
        for deadline in (0, 5):
            story = Story()
            story.hook(10, 15, "gain", "a", 5, deadline=deadline)
            story.killed(20, "a")
            self.assert_caught(story, "DEADLINE", "without a lease")

    def test_left_in_office(self):
        story = Story()
        story.hook(0, 5, "gain", "a", 5)
        self.assert_caught(story, "CLOSED", "still in office")


if __name__ == "__main__":
    unittest.main()
