"""The names of measures of people and their ties: `gini_followers`, `ei_index_party`, `correlation_age_reshares`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from prism.config.attributes import AttributeConfig
from prism.expectations import guess

PLACE: Final = "population.measures"
ATTENTION: Final = ("followers", "reshares")
"""The attention that people get: followers, and reshares of their posts since the run began."""
NUMBERS: Final = ("float", "int")
GROUPS: Final = ("text", "bool")
OF_ATTRIBUTES: Final[Mapping[str, tuple[str, ...]]] = {
    "ei_index": GROUPS,
    "modularity": GROUPS,
    "assortativity": (*GROUPS, *NUMBERS),
    "bimodality": NUMBERS,
    "variance": NUMBERS,
    "correlation": NUMBERS,
}
"""`{measure of an attribute: the types that it may have}`."""
OF_TIES: Final = ("ei_index", "modularity", "assortativity")
"""The measures of an attribute over ties."""
FORMS: Final = (*(f"{kind}_ATTRIBUTE" for kind in OF_ATTRIBUTES if kind != "correlation"),)
_EXPECTED: Final = ", ".join((*FORMS, *(f"correlation_ATTRIBUTE_{each}" for each in ATTENTION)))


class MeasureName(NamedTuple):
    """The parts of a measure's name.

    Args:
        kind: one of OF_ATTRIBUTES, or `gini`.
        attribute: the attribute; empty for `gini`.
        attention: one of ATTENTION; empty if it plays no part.
    """

    kind: str
    attribute: str
    attention: str


def measure_name(name: str) -> MeasureName | None:
    """Return the parts of a measure's name; None for any other text."""
    if name in [f"gini_{each}" for each in ATTENTION]:
        return MeasureName("gini", "", name.removeprefix("gini_"))
    kind = next((each for each in OF_ATTRIBUTES if name.startswith(f"{each}_")), "")
    rest, attention = name.removeprefix(f"{kind}_"), ""
    if kind == "correlation":
        rest, _, attention = rest.rpartition("_")
    is_whole = kind and rest and (kind != "correlation" or attention in ATTENTION)
    return MeasureName(kind, rest, attention) if is_whole else None


def unknown_measure(name: str, known: Iterable[str], declared: Mapping[str, AttributeConfig] | None = None) -> str:
    """Return why a run of people has no such measure, and how it gets it; or the known one that was meant.

    Args:
        known: the measures that it has.
        declared: the attributes of its people; None if they are not known.
    """
    if measure_name(name) is None:
        return f"no measure {name!r}: {guess(name, known)}"
    problem = "" if declared is None else measure_problem(name, declared)
    return problem or f"no measure {name!r}: add it to {PLACE}"


def measure_problem(name: str, declared: Mapping[str, AttributeConfig]) -> str:
    """Return the reason why people with these attributes cannot have a measure; empty if they can."""
    measure = measure_name(name)
    if measure is None:
        ginis = ", ".join(f"gini_{each}" for each in ATTENTION)
        return f"no measure {name!r}: expected {ginis}, {_EXPECTED}"
    if not measure.attribute:
        return ""
    if measure.attribute not in declared:
        known = guess(measure.attribute, list(declared)) if declared else "population.attributes declares none"
        return f"{name}: no attribute {measure.attribute!r}: {known}"
    needed, got = OF_ATTRIBUTES[measure.kind], declared[measure.attribute].type
    if got in needed:
        return ""
    return f"{name}: expected an attribute of type {' or '.join(needed)}, got {measure.attribute} of type {got}"
