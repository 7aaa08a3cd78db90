"""The timeline: a line per start and end of a hook, appended by the hooks themselves.

    <CLOCK_BOOTTIME ns> start|end hook=gain election=demo member=a pid=71 token=12 ... exit=0

The harness adds lines of its own: `killed member=a` when it has killed a whole agent.
"""

import os
from dataclasses import dataclass, field

from .wait import now_ns, wait_for


@dataclass(frozen=True)
class Event:
    at_ns: int
    kind: str  # start, end, grandchild, killed
    fields: dict = field(default_factory=dict)

    @property
    def hook(self):
        return self.fields.get("hook", "")

    @property
    def election(self):
        return self.fields.get("election", "")

    @property
    def member(self):
        return self.fields.get("member", "")

    @property
    def pid(self):
        return int(self.fields.get("pid", 0))

    @property
    def token(self):
        """The token as a number, 0 when empty, None when the hook did not get one."""
        text = self.fields.get("token")
        if text is None:
            return None
        try:
            return int(text or 0)
        except ValueError:
            return None

    @property
    def previous_token(self):
        """The token of the term before, 0 when it is not known."""
        return int(self.fields.get("previous_token") or 0)

    @property
    def reason(self):
        return self.fields.get("reason", "")

    @property
    def planned(self):
        return self.fields.get("planned") == "yes"

    @property
    def deadline_ns(self):
        """The lease's deadline, 0 when there is none."""
        return int(self.fields.get("deadline_ms") or 0) * 1_000_000

    @property
    def ok(self):
        """Whether a hook that ended did so with success."""
        return self.fields.get("exit") == "0"

    def __str__(self):
        pairs = " ".join(f"{key}={value}" for key, value in self.fields.items())
        return f"{self.at_ns} {self.kind} {pairs}"


def parse_line(line):
    words = line.split()
    return Event(int(words[0]), words[1], dict(word.split("=", 1) for word in words[2:]))


def parse(text):
    """The events in the order of their time. A last line without its end is left out."""
    lines = [line for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return sorted(map(parse_line, lines), key=lambda event: event.at_ns)


class Timeline:
    def __init__(self, path):
        self.path = path
        with open(path, "ab"):
            pass
        os.chmod(path, 0o666)

    def text(self):
        with open(self.path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def events(self, kind=None, hook=None, member=None, election=None, after_ns=0):
        return [
            event
            for event in parse(self.text())
            if event.at_ns > after_ns
            and kind in (None, event.kind)
            and hook in (None, event.hook)
            and member in (None, event.member)
            and election in (None, event.election)
        ]

    def wait(self, kind, hook, member=None, election=None, after_ns=0, count=1, timeout=10):
        """Waits for the COUNT-th such event and returns it."""

        def found():
            events = self.events(kind, hook, member, election, after_ns)
            return events[count - 1] if len(events) >= count else None

        return wait_for(found, timeout, f"{kind} number {count} of {hook} on {member or 'any member'}")

    def mark_killed(self, member, at_ns=None):
        with open(self.path, "a", encoding="ascii") as file:
            file.write(f"{at_ns or now_ns()} killed member={member}\n")

    def render(self):
        """For people: times in ms since the first line."""
        events = parse(self.text())
        if not events:
            return "(empty)\n"
        zero = events[0].at_ns
        keys = ("token", "reason", "planned", "state", "leader", "previous_clean", "deadline_ms", "lease_ms",
                "timeout_ms", "missing", "overlaps", "exit", "signal")  # fmt: skip
        lines = []
        for event in events:
            pairs = " ".join(f"{key}={event.fields[key]}" for key in keys if event.fields.get(key))
            lines.append(f"{(event.at_ns - zero) / 1e6:10.1f} {event.member:8} {event.kind:6} {event.hook:7} {pairs}")
        deadline = f"(deadline_ms is on the clock that shows {zero // 1_000_000} at 0.0)"
        return "\n".join(lines) + f"\n{deadline}\n"
