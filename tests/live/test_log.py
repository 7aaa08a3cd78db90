"""The log of a whole agent: every line of it, whatever hooks, peers and operators put into it."""

import json
import os
import re
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import LiveCase, wait_for  # noqa: E402

HOSTILE = r"""#!/bin/sh
printf '{"level":"error"} "quoted" \\back\tslash\001\033[31m \377\376 caf\303\251 \360\237\220\230\n' >&2
printf 'level=error election=forged\r\n\n'
head -c 20000 /dev/zero | tr '\0' x
printf '\0\0'
exit 1
"""
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


class Log(LiveCase):
    def eventful(self, format, environment=None):
        """A leader's life with everything that is logged: hooks that say odd things and fail, a bad SIGHUP, an outage."""
        server = self.start_server()
        hostile = os.path.join(self.directory, "hostile")
        with open(hostile, "w", encoding="ascii") as file:
            file.write(HOSTILE)
        os.chmod(hostile, 0o755)
        a = self.agent("a", server, hooks=("gain", "lose", "notify"), log_level="debug")
        a.hook_words["notify"] = (hostile,)
        a.sections["log"] = {"format": format}
        with open(a.log_file, "ab") as file:
            facts = os.fstat(file.fileno())
            a.environment = {name: text.format(facts.st_dev, facts.st_ino) for name, text in (environment or {}).items()}
        a.start()
        a.wait_state("active")
        wait_for(lambda: a.log().count("xxxx") >= 1, 10, "the hook's output in the log")
        a.write_config(a.config_text() + 'nonsense "\\" = {\n')
        a.signal(signal.SIGHUP)
        a.wait_log("not reloaded")
        token = a.election_status()["token"]
        os.kill(a.elector(), signal.SIGKILL)
        wait_for(lambda: a.election_status().get("token") == token, 10, "another elector")
        server.restart()
        a.wait_state("active")
        self.assertEqual(a.stop(), 0)
        text = a.log()
        self.assertTrue(text.endswith("\n"))
        return text.splitlines()

    def test_json(self):
        """format = json: every line is one object with the same members at least, the hooks' words only in values."""
        objects = [json.loads(line) for line in self.eventful("json")]
        for entry in objects:
            self.assertIsInstance(entry, dict)
            self.assertRegex(entry["time"], f"^{TIME}$")
            self.assertIn(entry["level"], ("error", "warning", "info", "debug"))
            self.assertTrue(entry["event"], entry)
            self.assertIn(entry.get("election", "demo"), ("demo",))
        self.assertGreater(len(objects), 15)
        changes = [entry for entry in objects if entry["event"] == "state changed"]
        self.assertEqual([entry["state"] for entry in changes][:3], ["standby", "promoting", "active"])
        self.assertEqual({entry["reason"] for entry in changes if entry["state"] == "active"}, {"election"})
        self.assertTrue(all(entry["token"].isdigit() for entry in changes if entry["state"] == "active"))

    def test_text(self):
        """format = text: every line has its time and level, a transition's its states and reason."""
        lines = self.eventful("text")
        for line in lines:
            self.assertRegex(line, rf"^{TIME} (error|warning|info|debug) ")
            self.assertTrue(line.isprintable(), repr(line))
        for state in ("standby", "promoting", "active", "demoting"):
            found = [line for line in lines if re.search(rf"election=demo state={state} old=\w+ .*reason=\w+", line)]
            self.assertTrue(found, state)

    def test_journal(self):
        """Under a journal: priorities, and no time."""
        lines = self.eventful("text", {"JOURNAL_STREAM": "{}:{}"})
        for line in lines:
            self.assertRegex(line, r"^<[3467]>(?!\d{4}-)")
        self.assertTrue(any(line.startswith("<3>") and "not reloaded" in line for line in lines))
        self.assertTrue(any(line.startswith("<6>") and "state=active" in line for line in lines))

    def test_not_this_journal(self):
        """JOURNAL_STREAM of a service around it, with stderr led elsewhere: no priorities."""
        for line in self.eventful("text", {"JOURNAL_STREAM": "1:1"}):
            self.assertRegex(line, f"^{TIME} ")


if __name__ == "__main__":
    unittest.main()
