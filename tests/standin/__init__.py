"""The model server of the tests: with quirks, spells, probabilities, and faults that a library would forbid.

The server of `prism testing serve` is `actors.testing`; this one has in addition whatever only tests need.
"""

from actors.testing.server import ServerAddressError
from actors.testing.settings import Latency, ModelServerError, ServerSettingsError
from tests.standin.answers import WRONG_STATE, Reply
from tests.standin.errors import ServerProcessError
from tests.standin.exchange import Exchange
from tests.standin.faults import MEANINGS, Fault, FaultPlan, evenly
from tests.standin.process import ModelServerProcess
from tests.standin.quirks import QUIRKS, Quirk
from tests.standin.server import ModelServer
from tests.standin.server_statistics import Statistics
from tests.standin.settings import Dialect, Logprobs, ServerSettings, SystemOne
from tests.standin.spells import SPELLS, Spell, SpellKind

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
    "ServerAddressError",
    "ServerProcessError",
    "ServerSettings",
    "ServerSettingsError",
    "Spell",
    "SpellKind",
    "Statistics",
    "SystemOne",
    "evenly",
]
