"""Never loses sight of two: asks every member whether it has what only one may have, all the time and beside the agents."""

import threading
import time


class Lookout(threading.Thread):
    """
    Between two answers in a row that say yes a member had it all the time. Two members at once are two such spans that
    overlap; what lies between a yes and a no counts for nobody.
    """

    def __init__(self, questions, every_s=0.002):
        """
        QUESTIONS: name -> what returns whether it has it; each is called by a thread of its own, which at the end
        calls its close, if there is one.
        """
        super().__init__(daemon=True)
        self.questions = questions
        self.every_s = every_s
        self.done = threading.Event()
        self.spans = {name: [] for name in questions}  # [from, until], as asked before and answered after
        self.asked = dict.fromkeys(questions, 0)

    def run(self):
        threads = [threading.Thread(target=self._watch, args=(name,), daemon=True) for name in self.questions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _watch(self, name):
        last = False
        while not self.done.is_set():
            before = time.monotonic()
            has = self.questions[name]()
            if has and last:
                self.spans[name][-1][1] = before
            elif has:
                self.spans[name].append([time.monotonic(), before])
            last = has
            self.asked[name] += 1
            self.done.wait(self.every_s)
        getattr(self.questions[name], "close", lambda: None)()

    def overlaps(self):
        """The pairs of spans of two members that overlap, as (name, name, seconds)."""
        found = []
        names = list(self.spans)
        for place, one in enumerate(names):
            for other in names[place + 1 :]:
                for a in self.spans[one]:
                    for b in self.spans[other]:
                        seconds = min(a[1], b[1]) - max(a[0], b[0])
                        if seconds > 0:
                            found.append((one, other, seconds))
        return found

    def finish(self):
        """Stops. Returns the overlaps."""
        self.done.set()
        self.join(10)
        return self.overlaps()
