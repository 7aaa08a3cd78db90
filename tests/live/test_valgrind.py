"""The agent under valgrind, through a few terms: no invalid access, no undefined value that decides, nothing lost."""

import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, sanitizer, wait_for  # noqa: E402
from tenuretest.agent import BIN_DIR, TENURED  # noqa: E402

# What counts as an error: an access, and what nobody can free any more. What is still there at the end is not.
VALGRIND = (
    "valgrind", "--quiet", "--vgdb=no", "--error-exitcode=99", "--leak-check=full", "--show-leak-kinds=definite",
    "--errors-for-leak-kinds=definite", "--child-silent-after-fork=no", "--num-callers=30",
)  # fmt: skip


class Valgrind(LiveCase):
    tick_time = 400  # a session of 8 s at most: valgrind is slow
    times = {"session_timeout": 8000, "tick_time": 400}

    def wrapped(self, member, server, *more):
        agent = self.agent(
            member, server, **self.times, hooks=("gain", "lose", "fence", "notify", "follow"),
            hook_options={"fence_timeout": 500},
        )  # fmt: skip
        self.reports = os.path.join(self.directory, "valgrind")
        os.makedirs(self.reports, exist_ok=True)
        os.chmod(self.reports, 0o777)
        agent.environment = {"LD_PRELOAD": os.path.join(BIN_DIR, "exec_self.so"), "TENURE_TEST_PROGRAM": TENURED}
        agent.wrapper = (*VALGRIND, *more, f"--log-file={self.reports}/{member}.%p")
        return agent

    def found(self):
        """What valgrind found in any process. What it says of itself (system calls that it does not know) begins with "--"."""
        said = ""
        for name in os.listdir(self.reports):
            with open(os.path.join(self.reports, name), encoding="utf-8", errors="replace") as file:
                said += "".join(line for line in file if line.startswith("=="))
        return said

    def test_supervisor(self):
        """Terms begun and ended by every kind of demotion, a reload and an elector killed; the supervisor says nothing."""
        server = self.start_server()
        a = self.wrapped("a", server).start()
        a.wait_state("active", timeout=60)
        b = self.start_agent("b", server, **self.times)
        b.wait_queued(2)
        self.assertEqual(a.ctl("resign", "demo", timeout=60).returncode, 0)
        b.wait_state("active", timeout=20)
        a.wait_queued(2, timeout=60)
        self.assertEqual(b.ctl("resign", "demo", timeout=60).returncode, 0)
        a.wait_state("active", timeout=60)
        a.hook_options["gain_timeout"] = 6000
        a.write_config()
        a.signal(1)
        a.wait_log("configuration reloaded", timeout=60)
        # A reload brings an elector of its own.
        a.wait_state("active", timeout=60)
        first = wait_for(a.elector, 10, "an elector")
        os.kill(first, 9)
        wait_for(lambda: a.elector() not in (None, first) and a.state() == "active", 60, "the elector to be back")
        # Exit status 99 is valgrind's; the end of every test looks at it.
        a.behave("lose", "exit=1")
        self.assertEqual(a.stop(60), 0)
        self.assertEqual(self.found(), "")

    def test_elector(self):
        """Both processes, through a term and its end by resignation and by stopping."""
        server = self.start_server()
        a = self.wrapped("a", server, "--trace-children=yes", "--trace-children-skip=*/test_hook").start()
        a.wait_state("active", timeout=100)
        self.assertEqual(a.ctl("status", timeout=60).returncode, 0)
        self.assertEqual(a.ctl("resign", "demo", "--force", timeout=100).returncode, 0)
        a.wait_state("active", timeout=100)
        self.assertEqual(a.stop(60), 0)
        self.assertEqual(self.found(), "")


if __name__ == "__main__":
    if not shutil.which("valgrind") or sanitizer():
        print("left out: valgrind is not there, or the agent has a sanitizer of its own")
        sys.exit(0)
    unittest.main()
