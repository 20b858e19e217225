"""Checks of a configuration that need neither its people nor the contents of a large file.

A run makes the same checks, with the same errors. It also refuses mistakes that only a build can find.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from actors.factory.charts import check_choices, load_chart
from actors.factory.domains import build_domain, check_sharing
from actors.factory.input_files import read_files
from prism.checked import field_types
from prism.config import Config
from prism.config.attributes import PLACE, TRAITS
from prism.config.interventions import check_agents
from prism.config.model import ColumnsConfig, PopulationConfig
from prism.domain import Domain, said_by
from prism.expectations import found
from prism.no_effect import NoEffect, idle_interventions, told, unreached
from prism.social.chart import can_post
from prism.social.no_effect import no_effect_before
from prism.social.people.attributes import described, drawn_attributes
from prism.social.people.joining import authors_of, hours_of, join, number_of
from prism.social.people.persona import Persona
from prism.social.people.population import Population, graph_of
from prism.social.people.profiles import Profile
from prism.social.posts.post_file import post_lines
from prism.social.ranking import rankings
from prism.social.shard import check_shards
from prism.social.sharing import QuestionFields
from prism.social.ties.graph import graph_lines
from prism.wording import counted

NOBODY_POSTS = "statechart.file: no row has the effect post, so nobody writes an original post"
DRAWN_SHOWN = 1000
"""People for whom drawn attributes are shown without building: they take some milliseconds."""


class Checked(NamedTuple):
    """The findings about a domain that was not built.

    Args:
        size: the number of agents; None if it depends on a file that is too large to be read here.
        inputs: `{input file, as the user wrote it: SHA-256}`, None for a file that was opened and not read.
        not_built: the things that the build would make, in words; empty if everything was checked.
        notes: how input files were understood, and people's own attributes, in lines.
        ids: lists of people's ids in files: `prism.social.people.joining.Joined`.
    """

    size: int | None
    inputs: dict[str, str | None]
    not_built: str
    notes: tuple[str, ...] = ()
    ids: tuple[Sequence[str], ...] = ()


def check_domain(config: Config) -> Checked:
    """Check the domain that the configuration names.

    Raises:
        ConfigError: the settings do not fit each other or the input files.
        InputError: an input file cannot be used.
    """
    if config.simulation.domain != "social":  # a population may be large; the others are built at once
        built = build_domain(config)
        lines = lines_of_domain(config, built.domain)
        notes = (*said_by(built.domain).understood, *lines, *told(no_effect_of(config, built.domain)))
        return Checked(built.domain.size, dict(built.inputs), "", notes)
    checked = _check_population(config.population, config.simulation.seed)
    if (size := checked.size) is not None:
        check_agents(config.interventions, lambda person: number_of(person, size, checked.ids, None), numbers_only=True)
    chart = load_chart(config)
    check_choices(config, chart.behaviour)
    check_shards(config)
    rankings(config)
    check_sharing(config, lambda: QuestionFields(config, chart.behaviour.chart))
    silent = () if can_post(chart.behaviour) else (NOBODY_POSTS,)
    idle = [*unreached(chart.behaviour.chart), *no_effect_before(config, chart.behaviour, None)]
    notes = (*checked.notes, *silent, *told(idle))
    return checked._replace(inputs={**checked.inputs, **chart.inputs}, notes=notes)


def no_effect_of(config: Config, domain: Domain) -> list[NoEffect]:
    """Return the parts of a configuration that will have no effect in a run of a built domain."""
    known = said_by(domain).no_effect()
    return [*unreached(domain.chart), *(idle_interventions(config, None) if known is None else known)]


def lines_of_domain(config: Config, domain: Domain) -> tuple[str, ...]:
    """Return a line for each attribute of the people of a built domain, and the domain's notes on its settings."""
    people = getattr(domain, "population", None)
    lines = _lines_of_people(config.population, people.personas) if isinstance(people, Population) else ()
    return (*lines, *said_by(domain).notes())


def _check_population(config: PopulationConfig, seed: int) -> Checked:
    profiles, graph, hours, margins, posts, inputs = read_files(config, only_small=True)
    if config.graph.path is None and config.graph.kind == "profiles":
        graph = None if profiles is None else graph_of(profiles)
    is_generated = config.graph.path is None and config.graph.kind != "profiles"
    size = config.size if is_generated else None if graph is None else graph.size
    ids: tuple[Sequence[str], ...] = () if graph is None else (graph.names,)
    joins: tuple[str, ...] = ()
    if profiles is not None and (graph is not None or is_generated):
        joined = join(config, profiles, graph, seed)
        size, ids, joins = len(joined.cast), joined.ids, joined.lines
    if size is not None and hours is not None:
        joins += hours_of(hours, config, ids, size, seed)[1]
    if size is not None:
        joins += authors_of(posts or (), config, ids, size)[1]
    notes = (
        *(() if profiles is None else profiles.understood),
        *graph_lines(config.graph.path, graph),
        *joins,
        *post_lines(config.posts.file, posts or (), config.topics),
        *_lines_of_columns(config, profiles, seed, size, () if margins is None else margins.names),
        *(() if margins is None else margins.lines(size, seed)),
    )
    not_built = "the people and who follows whom" if is_generated else "the people"
    return Checked(size, inputs, not_built, notes, ids)


def _lines_of_columns(
    config: PopulationConfig,
    profiles: Sequence[Profile] | None,
    seed: int,
    size: int | None,
    margins: Collection[str] = (),
) -> Iterator[str]:
    """Yield a line for each attribute, and for each threshold and so on that has a column.

    Args:
        profiles: the profiles of the file; None if there is none, or if it was not read.
        size: the number of people; None if a large file decides it.
        margins: the attributes that come from margins, of which other lines tell.
    """
    unread = config.profiles is not None and profiles is None
    count = "" if profiles is None else counted(len(profiles), "profile")
    drawn = [drawn_attributes(agent, seed, config.attributes) for agent in range(min(size or DRAWN_SHOWN, DRAWN_SHOWN))]
    for name, declaration in config.attributes.items():
        head = f"{PLACE}.{name}: {declaration.expected}"
        if name in margins:
            continue
        if profiles and name in profiles[0].attributes:
            read = described([profile.attributes[name] for profile in profiles])
            yield f"{head}, column {declaration.column or name} of {count}: {read}"
        elif unread and not declaration.is_drawn:
            yield f"{head}, not read: --build reads the file"
        elif declaration.default is not None and declaration.is_complete:
            yield f"{head}, the same for everyone: {found(declaration.default)}"
        else:
            first = counted(len(drawn), "person", "people")
            yield f"{head}, drawn; the first {first}: {described([values[name] for values in drawn])}"
    for name in field_types(ColumnsConfig):
        column = getattr(config.columns, name)
        if column is not None and profiles:
            given = [profile.given[name] for profile in profiles if name in profile.given]
            blank, instead = len(profiles) - len(given), "0" if name in TRAITS else "drawn"
            others = f"; {blank:,} without a value: {instead}" if blank else ""
            yield f"population.columns.{name}: column {column} of {count}: {described(given)}{others}"


def _lines_of_people(config: PopulationConfig, personas: Sequence[Persona]) -> Iterator[str]:
    """Yield a line for each attribute, and for each threshold and so on that has a column, over all people."""
    people = counted(len(personas), "person", "people")
    for name, declaration in config.attributes.items():
        values = [persona.attributes[name] for persona in personas]
        yield f"{PLACE}.{name}: {declaration.expected}; {people}: {described(values)}"
    for name in field_types(ColumnsConfig):
        if getattr(config.columns, name) is not None:
            given = [getattr(persona.traits if name in TRAITS else persona, name) for persona in personas]
            yield f"population.columns.{name}: {people}: {described(given)}"
