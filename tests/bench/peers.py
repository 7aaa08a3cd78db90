"""The peers that stand beside tenure: how each is started, made to leave, and killed."""

import os
import shutil
import signal
import subprocess
import time

from tenuretest.agent import HOOK
from tenuretest.ports import free_ports
from tenuretest.wait import wait_for

FOLDER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "peers")
JARS = "/usr/share/java"
CLASS_PATH = ":".join(
    f"{JARS}/{name}.jar" for name in (
        "zookeeper", "zookeeper-jute", "zookeeper-recipes-lock", "curator-framework", "curator-client", "curator-recipes",
        "guava", "slf4j-api", "slf4j-nop", "netty-all", "snappy-java", "metrics-core", "commons-io",
    )
)  # fmt: skip
UNWATCHED_S = 0.1


def boottime_ns(monotonic_ns):
    return monotonic_ns + time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()


class Peer:
    """One process that stands for PATH and starts a hook when it leads."""

    def __init__(self, words, timeline):
        self.words = [*words, HOOK, "gain", timeline.path, "/nonexistent"]
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        return self

    def leave(self):
        """Leaves and stands again. Returns the instant before."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return boottime_ns(int(self.process.stdout.readline()))

    def kill9(self):
        killed_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        return killed_ns


def compile_java(ground):
    subprocess.run(
        ["javac", "-nowarn", "-d", ground.directory, "-cp", CLASS_PATH, f"{FOLDER}/JavaPeer.java"], check=True, timeout=120
    )


def kazoo(ground, path, timeout_ms):
    return ["/usr/bin/python3", f"{FOLDER}/kazoo_lock.py", ground.server.address, path, str(timeout_ms)]


def java(kind):
    def words(ground, path, timeout_ms):
        return ["java", "-Xmx128m", "-XX:-UsePerfData", "-cp", f"{ground.directory}:{CLASS_PATH}", "JavaPeer", kind,
                ground.server.address, path, str(timeout_ms)]  # fmt: skip

    return words


ON_ZOOKEEPER = {"kazoo Lock": kazoo, "Curator LeaderLatch": java("latch"), "Java WriteLock": java("lock")}


class Pair:
    """Two peers of one kind; the one that leads is `peers[0]`."""

    def __init__(self, ground, client, kind, timeout_ms):
        self.path = f"/bench/{kind.lower().replace(' ', '-')}"
        self.timeline = ground.new_timeline(f"peers-{kind.replace(' ', '-')}-{timeout_ms}")
        self.client = client
        client.ensure_path(self.path)
        words = ON_ZOOKEEPER[kind](ground, self.path, timeout_ms)
        self.peers = [Peer(words, self.timeline) for _ in range(2)]
        self.gains = 0
        self.peers[0].start()
        self.wait_gain()
        self.peers[1].start()
        self.wait_both()

    def wait_gain(self, timeout=60):
        self.gains += 1
        wait_for(lambda: len(self.timeline.events("start", "gain")) >= self.gains, timeout, "the other to lead")
        return self.timeline.events("start", "gain")[self.gains - 1]

    def candidates(self):
        return sorted(self.client.get_children(self.path), key=lambda name: int(name[-10:]))

    def wait_both(self):
        wait_for(lambda: len(self.candidates()) == 2, 60, "both to stand")

    def handoff(self):
        left_ns = self.peers[0].leave()
        time.sleep(UNWATCHED_S)
        gain = self.wait_gain()
        self.peers.reverse()
        self.wait_both()
        return (gain.at_ns - left_ns) / 1e6

    def close(self):
        for peer in self.peers:
            peer.kill9()


class Etcd:
    """An etcd server of its own, on memory, and two peers on it."""

    def __init__(self, ground):
        client, peer = free_ports(2)
        self.directory = os.path.join("/dev/shm", os.path.basename(ground.directory) + "-etcd")
        self.endpoint = f"http://127.0.0.1:{client}"
        self.log = open(os.path.join(ground.directory, "etcd.log"), "wb")  # noqa: SIM115
        own = f"http://127.0.0.1:{peer}"
        self.server = subprocess.Popen(
            ["etcd", "--data-dir", self.directory, "--listen-client-urls", self.endpoint, "--advertise-client-urls",
             self.endpoint, "--listen-peer-urls", own, "--initial-advertise-peer-urls", own, "--initial-cluster",
             f"default={own}"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
        )  # fmt: skip
        wait_for(lambda: self.keys("") is not None, 30, "etcd to serve")
        self.timeline = ground.new_timeline("etcd")
        words = ["/usr/bin/python3", f"{FOLDER}/etcd_elect.py", self.endpoint, "bench"]
        self.peers = [Peer(words, self.timeline).start() for _ in range(2)]
        self.gains = 1
        wait_for(lambda: self.timeline.events("start", "gain"), 30, "a leader")
        wait_for(lambda: self.keys("bench") == 2, 30, "both to stand")
        # Whose proposal is the older one leads: which of the two it is, their answers say.
        if self._leader() != str(self.peers[0].process.pid):
            self.peers.reverse()

    def _ctl(self, *words):
        return subprocess.run(
            ["etcdctl", "--endpoints", self.endpoint, *words], env=os.environ | {"ETCDCTL_API": "3"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def keys(self, prefix):
        done = self._ctl("get", "--prefix", "--keys-only", prefix or "/")
        return None if done.returncode else len(done.stdout.split())

    def _leader(self):
        return self._ctl("get", "--prefix", "bench", "--sort-by", "CREATE", "--limit", "1", "--print-value-only").stdout.strip()

    def handoff(self):
        left_ns = self.peers[0].leave()
        time.sleep(UNWATCHED_S)
        self.gains += 1
        wait_for(lambda: len(self.timeline.events("start", "gain")) >= self.gains, 60, "the other to lead")
        gain = self.timeline.events("start", "gain")[self.gains - 1]
        self.peers.reverse()
        wait_for(lambda: self.keys("bench") == 2, 30, "both to stand")
        return (gain.at_ns - left_ns) / 1e6

    def close(self):
        for peer in self.peers:
            peer.kill9()
        self.server.kill()
        self.server.wait()
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)
