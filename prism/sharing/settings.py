"""The table of archetypes that a configuration asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prism.config import Config
from prism.domain import Domain, QuestionFields, said_by
from prism.errors import ConfigError, ExpressionError, together
from prism.expressions import Field
from prism.sharing.archetype import Archetypes, Grouping, default_groupings, grouping
from prism.sharing.table import Rules, SharingTable
from prism.statechart import Oracle
from prism.statechart.behaviour import Reader


def fields_of(config: Config, domain: Domain) -> QuestionFields:
    """Return the fields of a domain's questions."""
    if (fields := said_by(domain).fields) is not None:
        return fields
    raise ConfigError(
        "configuration",
        f"questions of the domain {config.simulation.domain} have no fields by which they are alike: expected "
        f"none, got {config.oracle.sharing.by}",
        key="oracle.sharing.by",
    )


def archetypes_of(config: Config, fields: QuestionFields) -> Archetypes:
    """Return the archetypes of a run."""
    known = fields.question_fields()
    if not config.oracle.sharing.archetype:
        return Archetypes(default_groupings(fields.default_fields(), known), known)
    return Archetypes(declared_groupings(config.oracle.sharing.archetype, known), known)


def declared_groupings(declared: Mapping[str, str], known: Mapping[str, tuple[Field, Reader]]) -> list[Grouping]:
    """Return the groups of the fields that a configuration declares."""
    found: dict[str, tuple[str, Grouping]] = {}
    wrong: list[ConfigError] = []
    for name, text in declared.items():
        key = f"oracle.sharing.archetype.{name}"
        try:
            each = grouping(name, text, known)
        except ExpressionError as error:
            wrong.append(ConfigError("configuration", error.problem, key=key))
            continue
        if each.name in found:
            problem = f"the field has groups already, as {found[each.name][0]}: expected one entry for each field"
            wrong.append(ConfigError("configuration", problem, key=key))
        else:
            found[each.name] = name, each
    if wrong:
        raise together(wrong)
    return [each for _, each in found.values()]


def sharing_table(config: Config, domain: Domain, oracle: Oracle[Any]) -> SharingTable | None:
    """Return the table of archetypes of a run; None if its questions share nothing."""
    settings = config.oracle.sharing
    if settings.by == "none" or not config.statechart.oracle_enabled:
        return None
    archetypes = archetypes_of(config, fields_of(config, domain))
    if not oracle.judges:
        raise ConfigError(
            "configuration",
            f"the oracle gives no probabilities that could be shared: expected none, got {settings.by}",
            key="oracle.sharing.by",
        )
    rules = Rules(seed=config.simulation.seed, audit=settings.audit, deliberation=config.deliberation_ticks)
    return SharingTable(archetypes, rules)


def calls_a_judgement(config: Config) -> int:
    """Return the most calls that a judgement takes: only a server's answers show whether it has probabilities."""
    oracle, llm = config.oracle, config.llm
    if oracle.backend == "choice":
        return 1
    return 1 if llm.method == "probabilities" or llm.temperature == 0.0 else oracle.sharing.samples
