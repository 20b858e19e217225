"""The model server of the tests: that of `actors.testing`, and what only tests need.

It also gives probabilities, has quirks, breaks in ways that no library would allow, refuses calls beyond a rate, and
has spells, in which it behaves in another way for a time.
"""

from actors.testing import Exchange, Fault, FaultPlan, Latency
from tests.standin.quirks import QUIRKS
from tests.standin.server import ModelServer, ModelServerProcess
from tests.standin.settings import ApiError, Broken, Logprobs, ServerSettings, Spell, SpellKind, SystemOne

__all__ = [
    "QUIRKS",
    "ApiError",
    "Broken",
    "Exchange",
    "Fault",
    "FaultPlan",
    "Latency",
    "Logprobs",
    "ModelServer",
    "ModelServerProcess",
    "ServerSettings",
    "Spell",
    "SpellKind",
    "SystemOne",
]
