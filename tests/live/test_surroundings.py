"""What a hook finds around it, and who may use the control socket."""

import os
import pwd
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import TENURECTL, LiveCase, wait_for  # noqa: E402

HOOKS = ("gain", "lose", "fence", "follow", "notify")
VARIABLES = {
    f"TENURE_{name}"
    for name in (
        "EVENT", "ELECTION", "MEMBER", "ADDRESS", "STATE", "OLD_STATE", "TOKEN", "REASON", "PLANNED", "LEADER",
        "LEADER_ADDRESS", "PREVIOUS", "PREVIOUS_ADDRESS", "PREVIOUS_TOKEN", "PREVIOUS_CLEAN", "DEADLINE_MS",
        "LEASE_MS", "TIMEOUT_MS", "TRANSITION",
    )
} | {"PATH", "HOME", "USER", "LOGNAME", "SHELL"}  # fmt: skip
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Notes what it finds; what the shell itself adds to its environment is not in /proc.
SCRIPT = """#!/bin/sh
out={directory}/$1.{member}
cat /proc/$$/environ >$out.environ
ls /proc/$$/fd >$out.fds
{{
	echo "id $(id -u) $(id -g)"
	echo "groups $(id -G)"
	echo "umask $(umask)"
	echo "cwd $(readlink /proc/$$/cwd)"
	echo "stdin $(readlink /proc/$$/fd/0)"
	echo "fds" $(cat $out.fds)
	echo "session" $(cut -d' ' -f1,5,6 /proc/$$/stat)
	# Not by another program: while it starts one, the shell blocks all signals.
	while read -r key value; do case $key in SigBlk:|SigIgn:) echo "$key $value" ;; esac; done </proc/$$/status
}} >$out.facts
mv $out.environ $out.environ.done
echo "args $#:$2" >>$out.facts
mv $out.facts $out.facts.done
test $1 != lose || exit {lose_status}
"""


class Surroundings(LiveCase):
    def noting(self, member, server, lose_status=0, **options):
        """An agent of which every hook notes what it finds."""
        notes = os.path.join(self.directory, "notes")
        os.makedirs(notes, exist_ok=True)
        os.chmod(notes, 0o777)
        script = os.path.join(self.directory, f"{member}.sh")
        with open(script, "w", encoding="ascii") as file:
            file.write(SCRIPT.format(directory=notes, member=member, lose_status=lose_status))
        os.chmod(script, 0o755)
        agent = self.agent(member, server, hooks=HOOKS, hook_options={"fence_timeout": 200, "lose_timeout": 400},
                           **options)  # fmt: skip
        for hook in HOOKS:
            agent.hook_words[hook] = (script, hook, "two  words")
        # Nothing of this may reach a hook, nor TENURE_ variables that were there before.
        agent.environment = {"NOTIFY_SOCKET": "/nonexistent", "WATCHDOG_USEC": "1000000", "TENURE_LEADER": "forged",
                             "IFS": "x", "LD_BIND_NOW": "1", "PWD": "/tmp"}  # fmt: skip
        return agent

    def note(self, hook, member, kind):
        name = os.path.join(self.directory, "notes", f"{hook}.{member}.{kind}.done")
        wait_for(lambda: os.path.exists(name), 10, name)
        with open(name, encoding="utf-8") as file:
            return file.read()

    def environ(self, hook, member):
        entries = self.note(hook, member, "environ").split("\0")
        self.assertEqual(entries.pop(), "")
        self.assertEqual(len(entries), len({entry.split("=")[0] for entry in entries}), "each variable once")
        return dict(entry.split("=", 1) for entry in entries)

    def facts(self, hook, member):
        return dict(line.split(None, 1) for line in self.note(hook, member, "facts").splitlines())

    def test_environment(self):
        """Every hook, fence included, finds exactly the promised variables, and what `env` adds."""
        server = self.start_server()
        a = self.noting("a", server, lose_status=1, election={"env": ["PGDATA=/x y", "SHELL=/bin/zsh"]}).start()
        a.wait_state("active")
        for hook in HOOKS:
            found = self.environ(hook, "a")
            self.assertEqual(set(found), VARIABLES | {"PGDATA"}, hook)
            self.assertEqual(
                (found["TENURE_EVENT"], found["TENURE_ELECTION"], found["TENURE_MEMBER"], found["TENURE_ADDRESS"]),
                (hook, "demo", "a", "a.example:5432"),
            )
            self.assertEqual((found["PATH"], found["PGDATA"], found["SHELL"]), (SEARCH_PATH, "/x y", "/bin/zsh"))
            self.assertEqual(found["HOME"], pwd.getpwuid(os.geteuid()).pw_dir)
            self.assertIn(found["TENURE_PLANNED"], ("yes", "no"))
            self.assertIn(found["TENURE_PREVIOUS_CLEAN"], ("yes", "no", "unknown"))
        gain = self.environ("gain", "a")
        self.assertEqual((gain["TENURE_STATE"], gain["TENURE_OLD_STATE"]), ("promoting", "standby"))
        self.assertEqual((gain["TENURE_REASON"], gain["TENURE_TIMEOUT_MS"]), ("election", "5000"))
        self.assertEqual(gain["TENURE_TOKEN"], a.election_status()["token"])
        self.assertTrue(0 < int(gain["TENURE_LEASE_MS"]) <= 2000)
        lose = self.environ("lose", "a")
        self.assertEqual((lose["TENURE_REASON"], lose["TENURE_TOKEN"], lose["TENURE_STATE"]), ("startup", "", "starting"))
        self.assertEqual(self.environ("fence", "a")["TENURE_STATE"], "fencing")

    def check_process(self, facts):
        self.assertEqual((facts["umask"], facts["cwd"], facts["stdin"]), ("0022", "/", "/dev/null"))
        # The shell has opened its script above the first three.
        self.assertEqual([fd for fd in facts["fds"].split() if int(fd) < 10], ["0", "1", "2"])
        pid, group, session = facts["session"].split()
        self.assertEqual((group, session), (pid, pid))
        self.assertEqual((int(facts["SigBlk:"], 16), int(facts["SigIgn:"], 16)), (0, 0))
        self.assertEqual(facts["args"], "2:two  words")

    def test_process(self):
        """Session, group, directory, umask, descriptors, signals: as promised, whatever the agent was started with."""
        server = self.start_server()
        a = self.noting("a", server)
        a.wrapper = ("sh", "-c", "umask 077; trap '' HUP PIPE USR1; exec 7</dev/null; cd /tmp; exec \"$@\"", "sh")
        a.start()
        a.wait_state("active")
        for hook in ("gain", "lose", "follow", "notify"):
            self.check_process(self.facts(hook, "a"))

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_user(self):
        """Hooks run as their user with that user's groups, and with none that the agent had."""
        server = self.start_server()
        nobody = pwd.getpwnam("nobody")
        groups = os.path.join(self.directory, "group")
        shutil.copy("/etc/group", groups)
        with open(groups, "a", encoding="ascii") as file:
            file.write("tenure-test-one:x:54321:nobody\ntenure-test-two:x:54322:someone,nobody\n")
        a = self.noting("a", server, election={"user": "nobody"})
        a.wrapper = ("unshare", "-m", "setpriv", "--groups", "0,4242", "sh", "-c",
                     f"mount --bind {groups} /etc/group && exec \"$@\"", "sh")  # fmt: skip
        a.start()
        a.wait_state("active")
        for hook in ("gain", "lose", "follow", "notify"):
            facts = self.facts(hook, "a")
            self.check_process(facts)
            self.assertEqual(facts["id"], f"{nobody.pw_uid} {nobody.pw_gid}")
            self.assertEqual({int(g) for g in facts["groups"].split()}, {nobody.pw_gid, 54321, 54322})
            found = self.environ(hook, "a")
            self.assertEqual((found["USER"], found["LOGNAME"], found["HOME"], found["SHELL"]),
                             ("nobody", "nobody", nobody.pw_dir, nobody.pw_shell))  # fmt: skip


@unittest.skipIf(os.geteuid() != 0, "needs root")
class ControlSocket(LiveCase):
    LOOKERS, CHANGERS, NEITHER = 45001, 45002, 45003

    def as_user(self, uid, groups, *words):
        done = subprocess.run(
            ["setpriv", "--reuid", str(uid), "--regid", str(groups[0]), "--groups", ",".join(map(str, groups)),
             self.tenurectl, "-s", self.agents[0].control, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=30, check=False,
        )  # fmt: skip
        return done.returncode

    def start(self):
        server = self.start_server()
        groups = os.path.join(self.directory, "group")
        shutil.copy("/etc/group", groups)
        with open(groups, "a", encoding="ascii") as file:
            file.write(f"lookers:x:{self.LOOKERS}:\nchangers:x:{self.CHANGERS}:\n")
        agents = [self.agent(member, server) for member in "ab"]
        for agent in agents:
            agent.sections["control"] = {"group": "lookers", "admin_group": "changers"}
            agent.wrapper = ("unshare", "-m", "sh", "-c", f"mount --bind {groups} /etc/group && exec \"$@\"", "sh")
            agent.start()
            agent.wait_queued()
        agents[0].wait_state("active")
        # The program itself may lie where others cannot reach it.
        self.tenurectl = shutil.copy(TENURECTL, os.path.join(self.directory, "tenurectl"))
        return agents

    def test_permissions(self):
        """Who is not of the group is kept out; the group may look; root and the admin group may change something."""
        a, b = self.start()
        mode = os.stat(a.control)
        self.assertEqual((mode.st_mode & 0o777, mode.st_uid, mode.st_gid), (0o660, 0, self.LOOKERS))
        for uid in (1, pwd.getpwnam("nobody").pw_uid):  # the elector's own user has no more rights than others
            with self.subTest(uid=uid):
                for command in ("status", "is-leader", "resign"):
                    self.assertIn(self.as_user(uid, [self.NEITHER], command), (2, 69), command)
                    self.assertIn(self.as_user(uid, [self.CHANGERS], command), (2, 69), command)
                for groups in ([self.LOOKERS], [self.NEITHER, self.LOOKERS]):
                    self.assertEqual(self.as_user(uid, groups, "status"), 0)
                    self.assertEqual(self.as_user(uid, groups, "is-leader"), 0)
                    self.assertEqual(self.as_user(uid, groups, "resign"), 77)
        self.assertEqual(len(self.timeline.events("start", "gain")), 1)
        self.assertEqual(self.as_user(1, [self.LOOKERS, self.CHANGERS], "resign"), 0)
        b.wait_state("active")
        a.wait_queued(2)
        self.assertEqual(b.ctl("resign").returncode, 0)
        a.wait_state("active")
        b.wait_queued(2)
        self.assertEqual(self.as_user(1, [self.CHANGERS, self.LOOKERS], "resign"), 0)
        b.wait_state("active")


if __name__ == "__main__":
    unittest.main()
