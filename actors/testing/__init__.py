"""Stand-ins for a language model: a server on a real socket that fails on request, and a scripted model and client.

The server speaks Ollama's API and OpenAI's. It answers within the schema of the request, and gives equal requests equal
answers:

    with ModelServer(ServerSettings(slots=2, faults=FaultPlan(shares={Fault.HANG: 0.1}))) as server:
        ...  # ask server.url; look at server.calls and server.statistics(); server.stop(), server.start()

`prism testing serve` is the same from a shell. Tests that need no socket take `ScriptedModel` or `ScriptedClient`.
See docs/language-models.md.
"""

from actors.testing.scripted import ScriptedClient, ScriptedModel
from actors.testing.server import (
    WRONG_STATE,
    Exchange,
    Fault,
    FaultPlan,
    Latency,
    ModelServer,
    ModelServerError,
    ServerAddressError,
    ServerSettings,
    ServerSettingsError,
    Statistics,
)
from actors.testing.virtual_time import run_in_virtual_time

__all__ = [
    "WRONG_STATE",
    "Exchange",
    "Fault",
    "FaultPlan",
    "Latency",
    "ModelServer",
    "ModelServerError",
    "ScriptedClient",
    "ScriptedModel",
    "ServerAddressError",
    "ServerSettings",
    "ServerSettingsError",
    "Statistics",
    "run_in_virtual_time",
]
