"""Clock and waiting. Every wait is for a condition, with a bound."""

import time

POLL_S = 0.01


def now_ns():
    """The clock of the agents: CLOCK_BOOTTIME in nanoseconds."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def wait_for(condition, timeout, what):
    """Returns the first true value of CONDITION(), or fails after TIMEOUT seconds."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout} s in vain for {what() if callable(what) else what}")
        time.sleep(POLL_S)


def holds_for(condition, seconds, what):
    """Fails as soon as CONDITION() is false within SECONDS: for what must not happen."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not condition():
            raise AssertionError(f"did not hold for {seconds} s: {what}")
        time.sleep(POLL_S)
