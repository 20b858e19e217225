"""A system that is measured, the sizes of its work, and the reason if a package of it cannot be had."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, NamedTuple

PACKAGES: Final = ("mesa", "pykka", "xoscar", "thespian", "transitions", "sismic", "python-statemachine")
"""The packages of the extra `peers`, by the names under which they are installed."""


class Sizes(NamedTuple):
    """The amount of work of one measurement.

    Args:
        rounds: rounds of the feed that are measured, after `warm` others.
        crowd: people of the feed of very many; `crowd_rounds`, `crowd_warm`: its rounds.
        trips: round trips of a message; `fan_in`: messages of each of 1,000 senders.
        steps: transitions of a chart; `people`: the most people of those whose growth is measured.
        ticks: the most ticks of the runs whose growth is measured.
        boards: runs of Schelling's model.
    """

    rounds: int
    warm: int
    crowd: int
    crowd_rounds: int
    crowd_warm: int
    trips: int
    fan_in: int
    steps: int
    people: int
    ticks: int
    boards: int


SIZES: Final = {
    "full": Sizes(1000, 10, 100_000, 8, 2, trips=20_000, fan_in=20, steps=10_000, people=16_000, ticks=960, boards=100),
    "small": Sizes(20, 5, 8_000, 2, 1, trips=2_000, fan_in=3, steps=4_000, people=4_000, ticks=480, boards=10),
}

Values = dict[str, float]
"""`{what is measured, with its unit: the value}`."""


class System(NamedTuple):
    """One system in one comparison.

    Args:
        measure: returns the values of one measurement.
        package: the package that it needs besides PRISM, empty for none.
    """

    measure: Callable[[Sizes], Values]
    package: str = ""


class MissingPeerError(Exception):
    """A package cannot be imported here."""

    def __init__(self, module: str, error: BaseException) -> None:
        first = (str(error) or "no reason given").splitlines()[0]
        super().__init__(f"import {module}: {type(error).__name__}: {first}")


def peer(module: str) -> Any:
    """Return a module of a peer.

    Raises:
        MissingPeerError: it is not installed, or is broken in this Python.
    """
    try:
        return import_module(module)
    except Exception as error:
        raise MissingPeerError(module, error) from error


def measured(system: System, sizes: Sizes) -> Mapping[str, float | str]:
    """Return the values of one measurement; `{"missing": reason}` if there are none."""
    try:
        return system.measure(sizes)
    except MissingPeerError as error:
        return {"missing": str(error)}
    except Exception as error:  # noqa: BLE001  # a peer that fails is a line of the table
        first = (str(error) or "no reason given").splitlines()[0]
        return {"missing": f"{type(error).__name__}: {first}"}


def versions() -> dict[str, str]:
    """Return the version of each package of the extra `peers`, `not installed` if there is none."""
    return {name: _version(name) for name in PACKAGES}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
