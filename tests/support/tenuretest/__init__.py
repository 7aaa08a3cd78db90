"""What the live tests are made of: a server, agents, a proxy, the hooks' timeline and the oracle."""

from .agent import BIN_DIR, HOOK, SOURCE_DIR, TENURECTL, TENURED, Agent, sanitizer
from .case import LiveCase
from .fault import FaultCase
from .hosts import Hosts
from .lookout import Lookout
from .oracle import Oracle
from .proxy import CREATE, CREATE2, DELETE, SET_DATA, Proxy
from .script import SHELLS, Script, ScriptChecks, hook_path
from .server import Ensemble, Server
from .timeline import Event, Timeline, parse
from .wait import holds_for, now_ns, wait_for

__all__ = [
    "BIN_DIR", "CREATE", "CREATE2", "DELETE", "HOOK", "SET_DATA", "SHELLS", "SOURCE_DIR", "TENURECTL", "TENURED",
    "Agent", "Ensemble", "Event", "FaultCase", "Hosts", "LiveCase", "Lookout", "Oracle", "Proxy", "Script",
    "ScriptChecks", "Server", "Timeline", "holds_for", "hook_path", "now_ns", "parse", "sanitizer", "wait_for",
]  # fmt: skip
