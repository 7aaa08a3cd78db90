"""A ready-made hook of etc/hooks, run alone: with the bare environment that the agent gives, under a shell of choice."""

import os
import signal
import subprocess
import time

from .agent import SOURCE_DIR

SHELLS = {"dash": ("dash",), "busybox": ("busybox", "sh")}
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_IDENTITY = {"PATH": SEARCH_PATH, "HOME": "/root", "USER": "root", "LOGNAME": "root", "SHELL": "/bin/sh"}


def hook_path(name):
    return os.path.join(SOURCE_DIR, "etc/hooks", name)


class Script:
    def __init__(self, name, shell, env, wrapper=()):
        """ENV: what the election's `env` would add. WRAPPER: words before the command, as of a network namespace."""
        self.command = [*wrapper, *SHELLS[shell], hook_path(name)]
        self.env = _IDENTITY | env

    def start(self, event, **tenure):
        """TENURE: the TENURE_ variables, in small letters without that."""
        named = {f"TENURE_{name.upper()}": str(value) for name, value in ({"event": event} | tenure).items()}
        return subprocess.Popen(
            [*self.command, event], env=self.env | named, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def run(self, event, timeout=30, **tenure):
        """To its end, or killed as the agent does it: returncode is then -9. Returns the finished process."""
        process = self.start(event, **tenure)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            kill_group(process)
            out, err = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def run_killed(self, event, after_s, **tenure):
        """Killed after so many seconds, unless it has ended before."""
        process = self.start(event, **tenure)
        time.sleep(after_s)
        kill_group(process)
        process.communicate()
        return process.returncode


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class ScriptChecks:
    """For test cases: self.script is what they try."""

    def succeeds(self, event, **tenure):
        done = self.script.run(event, **tenure)
        self.assertEqual(done.returncode, 0, f"{event}: {done.stderr}")
        return done

    def fails(self, event, text, status=1, **tenure):
        """With STATUS, and one line that has TEXT in it."""
        done = self.script.run(event, **tenure)
        self.assertEqual(done.returncode, status, f"{event}: {done.stderr}")
        self.assertIn(text, done.stderr)
        return done

    def survives_kills(self, event, prepare, reached, count=8, **tenure):
        """PREPARE, EVENT killed after a part of its usual time, EVENT again: it succeeds and REACHED() is true."""
        prepare()
        began = time.monotonic()
        self.succeeds(event, **tenure)
        usual = time.monotonic() - began
        killed = 0
        for step in range(count):
            prepare()
            killed += self.script.run_killed(event, usual * step / count, **tenure) == -signal.SIGKILL
            self.succeeds(event, **tenure)
            self.assertTrue(reached(), f"{event} after a kill at {step}/{count} of its time")
        self.assertGreater(killed, count // 3, "runs that were killed before their end")
