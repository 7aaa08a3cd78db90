"""A clean Debian root made with debootstrap, and the packages of this tree."""

import fcntl
import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "support"))

from tenuretest import BIN_DIR, SOURCE_DIR, wait_for  # noqa: E402

BUILD = os.path.join(os.path.dirname(BIN_DIR), "package")
LONG_S = 600

# Takes in what its children leave, and ends with whoever started it.
INIT = """
import ctypes, os, signal, subprocess, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
root = sys.argv[1]
for kind, place, options in (("proc", "proc", "nosuid"), ("tmpfs", "run", "mode=755"), ("tmpfs", "dev/shm", "mode=1777")):
    os.makedirs(os.path.join(root, place), exist_ok=True)
    subprocess.run(["mount", "-t", kind, "-o", options, kind, os.path.join(root, place)], check=True)
print("ready", flush=True)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
while True:
    signal.sigwait([signal.SIGCHLD])
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
"""


def run(*command, **options):
    """Runs it, its output together. The error of one that fails shows that."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        errors="replace", check=False, **({"timeout": LONG_S} | options),
    )  # fmt: skip
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-6000:]}")
    return done.stdout


class _Locked:
    """One of several tests at a time."""

    def __init__(self, name):
        os.makedirs(BUILD, exist_ok=True)
        self.name = os.path.join(BUILD, name)

    def __enter__(self):
        self.file = open(self.name, "w", encoding="ascii")
        fcntl.flock(self.file, fcntl.LOCK_EX)

    def __exit__(self, *_):
        self.file.close()


@functools.cache
def packages(after=""):
    """Builds them, with AFTER behind the version. Returns name of the package -> file."""
    out = os.path.join(BUILD, "out" + after)
    with _Locked("lock"):
        run("cmake", "-C", os.path.join(SOURCE_DIR, ".cmake", "package.cmake"), "-S", SOURCE_DIR, "-B", BUILD)
        run("cmake", "--build", BUILD, "--parallel", "2")
        version = run("sed", "-n", "s/^CMAKE_PROJECT_VERSION:.*=//p", "CMakeCache.txt", cwd=BUILD).strip()
        shutil.rmtree(out, ignore_errors=True)
        run("cpack", "-R", version + after, "-B", out, cwd=BUILD)
    files = [file for file in os.listdir(out) if file.endswith(".deb")]
    return {file.split("_")[0]: os.path.join(out, file) for file in files}


def _archive():
    """URI and code name of the archive that this host's own release comes from, as apt is configured."""
    with open("/etc/os-release", encoding="ascii") as file:
        release = dict(line.strip().split("=", 1) for line in file if "=" in line).get("VERSION_CODENAME", "")
    targets = run("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT)", "Created-By: Packages")
    for line in targets.splitlines():
        uri, codename, component = line.split()
        if (codename, component) == (release, "main"):
            return uri, release
    raise AssertionError(f"apt has no archive of {release} main, so there is nothing to make a clean root of:\n{targets}")


def _base():
    """The root that is copied, made once."""
    if os.geteuid() != 0:
        raise AssertionError("a clean root can be made by root alone")
    base = os.path.join(BUILD, "root")
    with _Locked("root.lock"):
        if not os.path.isdir(base):
            uri, release = _archive()
            new = tempfile.mkdtemp(prefix="root-", dir=BUILD)
            try:
                run("debootstrap", "--variant=minbase", release, new, uri)
                os.chmod(new, 0o755)
                os.rename(new, base)
            except BaseException:
                shutil.rmtree(new, ignore_errors=True)
                raise
    return base


class CleanRoot:
    """Its own processes and mounts; the network is the host's. All is over and gone with close()."""

    def __init__(self):
        base = _base()
        self.path = tempfile.mkdtemp(prefix="tenure-root-")
        run("cp", "-a", "--reflink=auto", f"{base}/.", self.path)
        self.init = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child=SIGKILL", sys.executable, "-c", INIT, self.path],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        if self.init.stdout.readline() != "ready\n":
            raise AssertionError("cannot make namespaces for a clean root")
        with open(f"/proc/{self.init.pid}/task/{self.init.pid}/children", encoding="ascii") as file:
            self.pid = int(file.read())
        self.syslog = _Syslog(self.file("dev/log"))
        self.words = ["nsenter", f"--target={self.pid}", "--mount", "--pid", "chroot", self.path]

    def close(self):
        # Its end is that of its child, which is the end of all processes in there.
        self.init.send_signal(signal.SIGKILL)
        self.init.wait()
        wait_for(lambda: not os.path.exists(f"/proc/{self.pid}"), 10, "the end of the clean root's processes")
        self.init.stdout.close()
        self.syslog.close()
        shutil.rmtree(self.path)

    def file(self, path):
        """Where a file of it is, for us. What is mounted in there is reached by way of its first process."""
        return f"/proc/{self.pid}/root{self.path}/{path}"

    def read(self, path):
        try:
            with open(self.file(path), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def write(self, path, text, mode=0o644):
        os.makedirs(os.path.dirname(self.file(path)), exist_ok=True)
        with open(self.file(path), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.file(path), mode)

    def status(self, *command, timeout=LONG_S):
        """Runs it in there. Returns its exit status and output."""
        done = subprocess.run(
            [*self.words, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive",
             *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", timeout=timeout, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    def run(self, *command, **options):
        status, output = self.status(*command, **options)
        if status != 0:
            raise AssertionError(f"{' '.join(command)}: exit status {status}\n{output[-6000:]}")
        return output

    def start(self, *command, environment=()):
        """Starts it in there and does not wait. The process is nsenter's; its only child is the command."""
        return subprocess.Popen([*self.words, "env", "-i", *environment, *command], stdin=subprocess.DEVNULL)

    def install(self, *files):
        """Packages from files, with what they need."""
        names = []
        for file in files:
            shutil.copy(file, self.file("tmp"))
            names.append(f"/tmp/{os.path.basename(file)}")
        if not os.path.exists(self.file("var/lib/apt/updated")):
            self.run("apt-get", "-q", "update")
            self.write("var/lib/apt/updated", "")
        return self.run("apt-get", "-q", "install", "-y", "--no-install-recommends", *names)

    def processes(self, *words):
        """Pids, on the host, of those in there whose command line begins with WORDS."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
                    line = file.read().split("\0")
                if line[: len(words)] == list(words) and os.readlink(f"/proc/{pid}/root") == self.path:
                    found.append(int(pid))
            except OSError:
                continue
        return found


class _Syslog:
    """What is sent to syslog in there."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        directory = os.open(os.path.dirname(path), os.O_RDONLY)
        # The name of a socket has to be short.
        self.socket.bind(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
        os.close(directory)
        self.text = ""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        while chunk := self.socket.recv(65536):
            self.text += chunk.decode(errors="replace") + "\n"

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
