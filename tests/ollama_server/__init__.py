"""A test double of Ollama's HTTP server on a real socket, with its errors, its queue and scripted faults.

    with OllamaServer(Settings(slots=2, faults=FaultPlan(shares={Fault.HANG: 0.1}))) as server:
        ...  # ask server.url, read server.calls, server.stop(), server.start()

By hand: `python -m tests.ollama_server --help`.
"""

from tests.ollama_server.answers import WRONG_STATE, Reply
from tests.ollama_server.faults import Fault, FaultPlan
from tests.ollama_server.latency import Latency
from tests.ollama_server.log import Exchange, Statistics
from tests.ollama_server.process import OllamaProcess
from tests.ollama_server.server import OllamaServer
from tests.ollama_server.settings import Dialect, Settings, SystemOne

__all__ = [
    "WRONG_STATE",
    "Dialect",
    "Exchange",
    "Fault",
    "FaultPlan",
    "Latency",
    "OllamaProcess",
    "OllamaServer",
    "Reply",
    "Settings",
    "Statistics",
    "SystemOne",
]
