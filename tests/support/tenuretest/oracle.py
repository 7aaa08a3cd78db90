"""The oracle: reads a timeline and says which promises it breaks.

S1  no two members of an election are in office at once, from the start of gain to the end of a
    successful lose or fence (or the death of the whole agent)
S2  tokens strictly grow in the order in which leaders take office, and every hook has the token
S3  no hook overlaps another of the same election on the same member, notify aside
S4  where fence_peer is configured, no gain follows another member's unclean term that nobody has fenced; and nobody
    fences itself, or a member that has left cleanly
DEADLINE  a forced demotion is over before the lease is; nobody takes office with a lease that is over
CLOSED    at the end nobody is left in office
"""

PROMISES = ("S1", "S2", "S3", "S4", "DEADLINE", "CLOSED")
APART = ("notify", "check", "score")


class Oracle:
    def __init__(self, promises=PROMISES, late_reasons=(), fencing=()):
        """
        LATE_REASONS: reasons of demotions that may end after the deadline (a host frozen past it).
        FENCING: members that have a fence_peer hook.
        """
        self.promises = promises
        self.late_reasons = late_reasons
        self.fencing = set(fencing)

    def check(self, events):
        """Returns the broken promises, a line each."""
        self._faults = []
        elections = {event.election for event in events if event.kind != "killed"}
        for election in sorted(elections):
            own = [event for event in events if event.kind == "killed" or event.election == election]
            self._check_offices(own)
            self._check_tokens(own)
            self._check_overlaps(own)
            self._check_fencing(own)
        return self._faults

    def _fault(self, promise, event, what):
        if promise in self.promises:
            self._faults.append(f"{promise}: {what}: {event}")

    def _check_offices(self, events):
        holders = {}  # member -> start of its gain
        forced = {}  # member -> start of the forced lose or fence under way
        for event in events:
            if event.kind == "killed":
                holders.pop(event.member, None)
                forced.pop(event.member, None)
            elif event.kind == "start" and event.hook == "gain":
                self._check_gain(event, holders)
                holders[event.member] = event
            elif event.kind == "start" and event.hook in ("lose", "fence"):
                if event.member in holders and not event.planned and event.deadline_ns:
                    forced.setdefault(event.member, event)
            elif event.kind == "end" and event.hook in ("lose", "fence") and event.ok:
                holders.pop(event.member, None)
                self._check_in_time(event.at_ns, forced.pop(event.member, None))
        for gain in holders.values():
            self._fault("CLOSED", gain, "still in office at the end")

    def _check_gain(self, gain, holders):
        for member, other in holders.items():
            what = "gain again without a lose between" if member == gain.member else f"{member} is in office ({other})"
            self._fault("S1", gain, what)
        if not gain.deadline_ns or gain.deadline_ns <= gain.at_ns:
            self._fault("DEADLINE", gain, "takes office without a lease that still runs")

    def _check_in_time(self, ended_ns, start):
        # After a restart it may have been over before the hook could begin.
        begun_late = start is not None and start.reason == "restart" and start.at_ns > start.deadline_ns
        if start is None or start.reason in self.late_reasons or begun_late or ended_ns <= start.deadline_ns:
            return
        self._fault("DEADLINE", start, f"out of office {(ended_ns - start.deadline_ns) / 1e6:.1f} ms late")

    def _check_tokens(self, events):
        newest = None
        terms = {}  # member -> token of its term
        for event in events:
            if event.kind == "killed":
                terms.pop(event.member, None)
            elif event.kind == "end" and event.hook in ("lose", "fence") and event.ok:
                terms.pop(event.member, None)
            if event.kind != "start":
                continue
            if event.token is None:
                self._fault("S2", event, "no token")
            elif event.hook == "gain":
                if event.token <= 0:
                    self._fault("S2", event, "no token")
                if newest is not None and event.token <= newest.token:
                    self._fault("S2", event, f"token not above the one before ({newest})")
                newest = event
                terms[event.member] = event.token
            elif event.hook in ("lose", "fence"):
                self._check_same_token(event, terms)

    def _check_same_token(self, event, terms):
        """A demotion has the token of the term it ends; outside a term (at start) it may have none."""
        own = terms.get(event.member)
        if own is not None and event.token != own:
            self._fault("S2", event, f"not the token {own} of its term")

    def _check_overlaps(self, events):
        ends = {(event.member, event.pid, event.hook): event.at_ns for event in events if event.kind == "end"}
        running = {}  # member -> the last start
        for event in events:
            if event.kind == "killed":
                running.pop(event.member, None)
            if event.kind != "start" or event.hook in APART:
                continue
            before = running.get(event.member)
            if int(event.fields.get("overlaps") or 0) != 0:
                self._fault("S3", event, f"the hook with pid {event.fields['overlaps']} still runs")
            elif before is not None:
                # A hook that was killed leaves no end; that it was gone is what "overlaps" has shown.
                if ends.get((before.member, before.pid, before.hook), 0) > event.at_ns:
                    self._fault("S3", event, f"overlaps ({before})")
            running[event.member] = event

    def _check_fencing(self, events):
        asked = {}  # run of fence_peer -> token of the member to be fenced
        fenced = set()  # tokens; 0: of a record that could not be read
        for event in events:
            run = (event.member, event.pid)
            if event.kind == "start" and event.hook == "fence_peer":
                asked[run] = event.previous_token
                if event.fields.get("previous") == event.member:
                    self._fault("S4", event, "fences itself")
                if event.fields.get("previous_clean") == "yes":
                    self._fault("S4", event, "fences a member that has left cleanly")
            elif event.kind == "end" and event.hook == "fence_peer" and event.ok:
                fenced.add(asked.get(run))
            elif event.kind == "start" and event.hook == "gain":
                self._check_fenced(event, fenced)
                fenced.discard(0)  # the next record that cannot be read is another one

    def _check_fenced(self, gain, fenced):
        own = gain.fields.get("previous") == gain.member
        clean = gain.fields.get("previous_clean", "yes") == "yes"
        if gain.member in self.fencing and not own and not clean and gain.previous_token not in fenced:
            self._fault("S4", gain, "the last leader has not been fenced")
