"""A TCP proxy before the server that can stall, delay, lag, cut, refuse, or lose the reply to one request."""

import queue
import random
import select
import socket
import struct
import threading
import time

CREATE, DELETE, SET_DATA, CREATE2, CLOSE_SESSION = 1, 2, 5, 15, -11
_BUFFER = 65536


class Proxy:
    def __init__(self, target_port, framed=True, target_host="127.0.0.1"):
        """Not FRAMED: whatever it is that the two ends say to each other, no messages are told apart."""
        self.framed = framed
        self.target = (target_host, target_port)
        self.lost = 0  # replies kept back by lose_reply
        self.attempts = 0  # connections made to us
        self._lock = threading.Condition()
        self._stalled = set()
        self._refusing = False
        self._links = set()
        self._match = None
        self._delay_s = 0
        self._lag_s = 0
        self._budget = None  # bytes that pass before the connection is cut
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        self._closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def stall(self, *directions):
        """Passes nothing on ("up": to the server, "down": to the client; both by default), cuts nothing."""
        with self._lock:
            self._stalled = set(directions or ("up", "down"))

    def refuse(self):
        """Cuts all connections and every new one at once."""
        with self._lock:
            self._refusing = True
        self.cut()

    def delay(self, longest_s):
        """Every message takes a random time up to LONGEST_S."""
        self._delay_s = longest_s

    def lag(self, seconds):
        """Everything arrives SECONDS later, each way, with as much under way as is sent meanwhile."""
        self._lag_s = seconds

    def cut_after(self, count):
        """Passes COUNT more bytes and cuts that connection there, in the middle of a message or not."""
        with self._lock:
            self._budget = count

    def resume(self):
        with self._lock:
            self._refusing = False
            self._delay_s = 0
            self._lag_s = 0
            self._budget = None
            self._stalled = set()
            self._lock.notify_all()

    def cut(self):
        with self._lock:
            links, self._links = self._links, set()
        for link in links:
            link.close()

    def lose_reply(self, match):
        """
        Passes the next request for which MATCH(operation, body) is true on to the server, keeps its
        reply back and cuts that connection.
        """
        with self._lock:
            self._match = match

    def close(self):
        self._closed = True
        # Wakes the accepting thread, which holds the socket open while it sleeps in accept.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.resume()
        self.cut()

    def _accept(self):
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.attempts += 1
            try:
                server = socket.create_connection(self.target, timeout=5)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            link = _Link(self, client, server)
            with self._lock:
                refused = self._refusing
                if not refused:
                    self._links.add(link)
            if refused:
                link.close()
            else:
                link.start()

    def _wait_turn(self, direction):
        """True when it had to wait."""
        with self._lock:
            held = direction in self._stalled
            self._lock.wait_for(lambda: direction not in self._stalled or self._closed)
        return held

    def _allowed(self, frame):
        """How much of FRAME may pass."""
        with self._lock:
            if self._budget is None or len(frame) <= self._budget:
                self._budget = None if self._budget is None else self._budget - len(frame)
                return len(frame)
            allowed, self._budget = self._budget, None
            return allowed

    def _take_match(self, operation, body):
        with self._lock:
            if self._match is None or not self._match(operation, body):
                return False
            self._match = None
            return True

    def _count_lost(self):
        with self._lock:
            self.lost += 1


class _Outlet:
    """What goes out to one end: at once, or after the proxy's lag, always in its order."""

    def __init__(self, proxy, target):
        self.proxy = proxy
        self.target = target
        self.line = None  # of (due, data), once there was a lag

    def send(self, data):
        if self.line is None and not self.proxy._lag_s:
            self.target.sendall(data)
            return
        if self.line is None:
            self.line = queue.SimpleQueue()
            self.thread = threading.Thread(target=self._run, daemon=True)
            self.thread.start()
        self.line.put((time.monotonic() + self.proxy._lag_s, data))

    def finish(self):
        """Waits until all that was sent is out, or the end is gone."""
        if self.line is not None:
            self.line.put(None)
            self.thread.join()

    def _run(self):
        try:
            while item := self.line.get():
                due, data = item
                time.sleep(max(0, due - time.monotonic()))
                self.target.sendall(data)
        except OSError:
            pass


def _has_hung_up(connection):
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return bool(poll.poll(0))


class _Link:
    """One connection through the proxy."""

    def __init__(self, proxy, client, server):
        self.proxy = proxy
        self.client = client
        self.server = server
        self.doomed = None  # xid of the request whose reply is to be lost

    def start(self):
        for source, target, direction in ((self.client, self.server, "up"), (self.server, self.client, "down")):
            threading.Thread(target=self._pump, args=(source, target, direction), daemon=True).start()

    def close(self):
        for end in (self.client, self.server):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def _pump(self, source, target, direction):
        pending = b""
        first = True
        begun = False
        outlet = _Outlet(self.proxy, target)
        try:
            while chunk := source.recv(_BUFFER):
                held = self.proxy._wait_turn(direction)
                begins, begun = not begun, True
                if held and begins and _has_hung_up(source):
                    # In a network that stalls, its first packet would not have got through either.
                    return
                if not self.proxy.framed:
                    outlet.send(chunk)
                    continue
                pending += chunk
                while len(pending) >= 4:
                    (size,) = struct.unpack_from(">i", pending)
                    if len(pending) < 4 + size:
                        break
                    frame, pending = pending[: 4 + size], pending[4 + size :]
                    # The first frame each way is the connect request and its answer, without a header.
                    if not first and not self._passes(frame[4:], direction):
                        return
                    first = False
                    if self.proxy._delay_s:
                        time.sleep(random.uniform(0, self.proxy._delay_s))
                    allowed = self.proxy._allowed(frame)
                    outlet.send(frame[:allowed])
                    if allowed < len(frame):
                        return
        except (OSError, struct.error, ValueError):  # the last when it was closed under our hands
            pass
        finally:
            outlet.finish()
            self.close()

    def _passes(self, body, direction):
        if direction == "up" and len(body) >= 8:
            xid, operation = struct.unpack_from(">ii", body)
            if self.proxy._take_match(operation, body[8:]):
                self.doomed = xid
        elif direction == "down" and self.doomed is not None and struct.unpack_from(">i", body) == (self.doomed,):
            self.proxy._count_lost()
            return False
        return True
