"""A test double of Ollama's HTTP server on a real socket, with its errors, its queue and scripted faults.

    with ModelServer(ServerSettings(slots=2, faults=FaultPlan(shares={Fault.HANG: 0.1}))) as server:
        ...  # ask server.url, read server.calls, server.stop(), server.start()

By hand: `python -m actors.testing --help`.
"""

from actors.testing.answers import WRONG_STATE, Reply
from actors.testing.faults import Fault, FaultPlan
from actors.testing.latency import Latency
from actors.testing.log import Exchange, Statistics
from actors.testing.process import ModelServerProcess
from actors.testing.server import ModelServer
from actors.testing.settings import Dialect, ServerSettings, SystemOne

__all__ = [
    "WRONG_STATE",
    "Dialect",
    "Exchange",
    "Fault",
    "FaultPlan",
    "Latency",
    "ModelServer",
    "ModelServerProcess",
    "Reply",
    "ServerSettings",
    "Statistics",
    "SystemOne",
]
