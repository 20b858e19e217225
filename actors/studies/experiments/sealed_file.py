"""A sealed file: predictions of the outcomes of a plan, with a hash over them and over the plan."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import msgspec
from msgspec.structs import replace

from actors.core.files import NotJsonError, content_hash, read_json
from prism.errors import ConfigError
from prism.experiment import Predictions

FREE = ("hypotheses", "thresholds")
"""The parts of a plan that may change after the sealing: no predicted outcome depends on them."""


class Sealed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sealed file.

    Args:
        seal: the hash of all other fields.
        at: when it was sealed, by the clock of the machine.
        prism: the version of PRISM that sealed it.
        cells_begun: the number of runs of the experiment that had begun, so that their results could be seen.
        plan: the hash of the plan.
        parts: `{part of the plan: hash}`: the question, the seeds, each measure, each condition with its inputs.
    """

    seal: str
    at: str
    prism: str
    cells_begun: int
    plan: str
    parts: dict[str, str]
    predictions: Predictions

    def __str__(self) -> str:
        return f"{len(self.predictions.predictions):,} by {self.predictions.by}, sealed {self.at}, {self.seal[:16]}"


def sealed_now(plan: str, parts: dict[str, str], predictions: Predictions, cells_begun: int) -> Sealed:
    """Return predictions of the outcomes of a plan, by its hash and those of its parts, sealed."""
    sealed = Sealed(
        seal="",
        at=now(),
        prism=version("prism-sim"),
        cells_begun=cells_begun,
        plan=plan,
        parts=parts,
        predictions=predictions,
    )
    return replace(sealed, seal=_seal_of(sealed))


def now() -> str:
    """Return the time in UTC, in the form of a sealed file."""
    return as_time(datetime.now(UTC).timestamp())


def as_time(seconds: float) -> str:
    """Return a time in UTC, in the form of a sealed file, which sorts as time does."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_sealed(path: Path) -> Sealed:
    """Return a sealed file whose hash is right."""
    try:
        sealed = read_json(path, Sealed)
    except FileNotFoundError:
        raise ConfigError(str(path), "no such file; expected one that `prism experiment seal` has written") from None
    except NotJsonError as error:
        raise ConfigError(str(path), f"is not a file of `prism experiment seal`: {error.problem}") from None
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read: {error.strerror or error}") from None
    if _seal_of(sealed) != sealed.seal:
        raise ConfigError(
            str(path), f"was changed after it was sealed: its content does not have the hash {sealed.seal[:16]}"
        )
    return sealed


def notes_on_plan(path: Path, sealed: Sealed, plan: str, parts: Mapping[str, str]) -> list[str]:
    """Return a note for each change of the plan after the sealing on which no predicted outcome depends."""
    if plan == sealed.plan:
        return []
    changed = [name for name in {**sealed.parts, **parts} if sealed.parts.get(name) != parts.get(name)]
    if wrong := [name for name in changed if name not in FREE]:
        more = f", and {len(wrong) - 1:,} more" if wrong[1:] else ""
        problem = f"was sealed for another plan: {_told(wrong[0], sealed.parts, parts)} after the sealing{more}"
        raise ConfigError(str(path), problem)
    return [f"the {name} were changed after the sealing" for name in changed] or [
        "the plan is the same, but PRISM has other code than at the sealing"
    ]


def _told(name: str, before: Mapping[str, str], now: Mapping[str, str]) -> str:
    if name not in now:
        return f"the {name} was removed"
    if name not in before:
        return f"the {name} was added"
    what = " (its settings, those of the base among them, its input files or its code)"
    return f"the {name}{what if name.startswith('condition ') else ''} was changed"


def _seal_of(sealed: Sealed) -> str:
    return content_hash(replace(sealed, seal=""))
