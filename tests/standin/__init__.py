"""The model server of the tests: that of `actors.testing`, and what only tests need.

It also gives probabilities, has quirks, breaks in ways that no library would allow, refuses calls beyond a rate, and
has spells, in which it behaves in another way for a time.
"""

from actors.testing import (
    WRONG_STATE,
    Exchange,
    Fault,
    FaultPlan,
    Latency,
    ModelServerError,
    ServerAddressError,
    ServerSettingsError,
)
from tests.standin.process import ModelServerProcess
from tests.standin.quirks import QUIRKS, Quirk
from tests.standin.server import ModelServer, Statistics
from tests.standin.settings import ApiError, Broken, Logprobs, ServerSettings, Spell, SpellKind, SystemOne

__all__ = [
    "QUIRKS",
    "WRONG_STATE",
    "ApiError",
    "Broken",
    "Exchange",
    "Fault",
    "FaultPlan",
    "Latency",
    "Logprobs",
    "ModelServer",
    "ModelServerError",
    "ModelServerProcess",
    "Quirk",
    "ServerAddressError",
    "ServerSettings",
    "ServerSettingsError",
    "Spell",
    "SpellKind",
    "Statistics",
    "SystemOne",
]
