"""Stand-ins for a language model: a server on a real socket that fails on request, and a scripted model and client.

The server speaks Ollama's API and OpenAI's. It answers within the schema of the request, and gives equal requests equal
answers:

    with ModelServer(ServerSettings(slots=2, faults=FaultPlan(shares={Fault.HANG: 0.1}))) as server:
        ...  # ask server.url; look at server.calls and server.statistics(); server.stop(), server.start()

`ModelServer` runs in a thread of its own, `ModelServerProcess` in a process of its own; `prism testing serve` is the
same from a shell. Tests that need no socket take `ScriptedModel` or `ScriptedClient`. See docs/language-models.md.
"""

from actors.testing.answers import WRONG_STATE, Reply
from actors.testing.errors import ModelServerError, ServerAddressError, ServerProcessError, ServerSettingsError
from actors.testing.exchange import Exchange
from actors.testing.faults import MEANINGS, Fault, FaultPlan, evenly
from actors.testing.process import ModelServerProcess
from actors.testing.quirks import QUIRKS, Quirk
from actors.testing.scripted import ScriptedClient, ScriptedModel
from actors.testing.server import ModelServer
from actors.testing.server_statistics import Statistics
from actors.testing.settings import Dialect, Latency, Logprobs, ServerSettings, SystemOne
from actors.testing.spells import SPELLS, Spell, SpellKind
from actors.testing.virtual_time import run_in_virtual_time

__all__ = [
    "MEANINGS",
    "QUIRKS",
    "SPELLS",
    "WRONG_STATE",
    "Dialect",
    "Exchange",
    "Fault",
    "FaultPlan",
    "Latency",
    "Logprobs",
    "ModelServer",
    "ModelServerError",
    "ModelServerProcess",
    "Quirk",
    "Reply",
    "ScriptedClient",
    "ScriptedModel",
    "ServerAddressError",
    "ServerProcessError",
    "ServerSettings",
    "ServerSettingsError",
    "Spell",
    "SpellKind",
    "Statistics",
    "SystemOne",
    "evenly",
    "run_in_virtual_time",
]
