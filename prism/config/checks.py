"""The checks of settings against each other. Each setting's own type and range are in `prism.config.model`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import TYPE_CHECKING, Final

from prism.checked import field_types
from prism.clock import SimulatedClock
from prism.config.attributes import PLACE, POSTS_PLACE, TRAITS, WEIGHTS, AttributeConfig
from prism.config.domain_settings import places_of
from prism.config.graph_fit import Conflict, find_misfit
from prism.config.measures import GROUPS, measure_problem
from prism.config.measures import PLACE as MEASURES
from prism.config.model import ColumnsConfig, InitialConfig
from prism.expectations import guess
from prism.quarter import Period, Quarter

if TYPE_CHECKING:
    from prism.config.config import Config

SHIPPED_DOMAINS: Final = ("social", "economy")
"""The domains that come with PRISM. Their settings have sections of their own."""
HOUR_S: Final = 3600
SESSION_TICKS: Final = 4
"""The fewest ticks in which a person can come online, see a post, decide and act."""
_CALENDAR: Final = " ".join(
    f"simulation.{name}" for name in ("epoch", "ticks", "rounds", "ticks_per_round", "tick_seconds")
)
"""The settings that decide the time of the last tick."""
_INDICATORS: Final = ("interest_rate", "inflation", "gdp_growth", "unemployment", "total_economic_value")
"""The settings of `economy.initial` that a file replaces."""


def find_conflicts(config: Config) -> list[Conflict]:
    """Return the conflicts between the sections of a configuration."""
    checks = (
        *(_domain, _time, _population, _columns, _attributes, _graph, _measures, _choice, _exposure, _hours, _oracle),
        *(_sharing, _llm, _models, _economy, _shards),
    )
    return list(chain.from_iterable(check(config) for check in checks))


def _of(keys: str, problem: str) -> Conflict:
    """Return a conflict of the settings with these dotted paths, which spaces divide."""
    return Conflict(tuple(keys.split()), problem)


def _repeated(key: str, names: Sequence[str], what: str) -> Iterator[Conflict]:
    repeated = next((name for index, name in enumerate(names) if name in names[:index]), None)
    if repeated is not None:
        yield _of(key, f"expected {what} that differ, got {repeated!r} more than once")


def _both(section: str, names: tuple[str, str], given: tuple[bool, bool]) -> Iterator[Conflict]:
    """Yield that one of two settings is missing, which are nothing without each other."""
    if given[0] != given[1]:
        present, missing = names if given[0] else names[::-1]
        problem = f"expected both {names[0]} and {names[1]}, or neither: {missing} is missing"
        yield _of(f"{section}.{present} {section}.{missing}", problem)


def _not_declared(
    key: str, name: str, declared: Mapping[str, AttributeConfig], kinds: Collection[str]
) -> Iterator[Conflict]:
    """Yield that there is no such attribute of people, or that it is of another type."""
    if name not in declared:
        known = guess(name, list(declared)) if declared else f"{PLACE} declares none"
        yield _of(f"{key} {PLACE}", f"no attribute {name!r}: {known}")
    elif (kind := declared[name].type) not in kinds:
        yield _of(
            f"{key} {PLACE}.{name}", f"expected an attribute of type {' or '.join(kinds)}, got {name} of type {kind}"
        )


def _domain(config: Config) -> Iterator[Conflict]:
    domain = config.simulation.domain
    if config.domain and domain in SHIPPED_DOMAINS:
        places = sorted(places_of(config.domain), key=lambda place: -place.count("."))
        yield Conflict(
            (*places, "simulation.domain"),
            f"the {domain} domain has no settings below the key domain, which is for domains of your own, got "
            f"{', '.join(config.domain)}",
        )


def _time(config: Config) -> Iterator[Conflict]:
    simulation, ticks = config.simulation, config.simulation.length
    if simulation.domain == "social" and simulation.ticks_per_round < SESSION_TICKS:
        yield _of(
            "simulation.ticks_per_round simulation.domain",
            f"expected ticks_per_round >= {SESSION_TICKS} in the social domain, where a session takes as many, got "
            f"{simulation.ticks_per_round}",
        )
    try:
        for tick in (0, ticks):
            SimulatedClock(simulation.epoch, simulation.tick_seconds).at(tick)
    except OverflowError:
        yield _of(
            _CALENDAR,
            f"expected all of the run between the years 1 and 9999, got {ticks} ticks of "
            f"{simulation.tick_seconds:g} s from {simulation.epoch.isoformat()}",
        )


def _population(config: Config) -> Iterator[Conflict]:
    population, topics = config.population, config.population.topics
    profiles, ties = population.profiles, population.graph.path
    yield from _repeated("population.topics", topics, "topics")
    # Profiles bring interests of their own, so the topics of synthetic people go unused.
    if profiles is None and population.interests_per_person > len(topics):
        yield _of(
            "population.interests_per_person population.topics",
            "expected interests_per_person <= the number of topics, got "
            f"{population.interests_per_person} and {len(topics)}",
        )
    if profiles is not None and population.margins:
        problem = "people come from profiles or from margins: expected only one of them"
        yield _of("population.margins population.profiles", problem)
    try:
        "a".encode(population.encoding)
    except (LookupError, ValueError):
        problem = f"expected an encoding of texts, such as utf-8, utf-16 or cp1252, got {population.encoding!r}"
        yield _of("population.encoding", problem)
    if population.join != "id" and profiles is None:
        problem = f"{population.join} joins people to a profile file in population.profiles, got null"
        yield _of("population.join population.profiles", problem)
    has_ids = population.join == "id" and profiles is not None and ties is not None
    others = population.posts.file, population.activity.hours
    if population.unmatched is not None and not has_ids and not any(isinstance(each, str) for each in others):
        yield _of(
            "population.unmatched population.join population.profiles population.graph.path",
            f"{population.unmatched} is about people in one of two files: expected population.profiles and "
            "population.graph.path, joined by id, or posts or hours of people",
        )
    # A graph file overrides the kind, which then asks for nothing.
    if population.graph.kind == "profiles" and profiles is None and ties is None:
        problem = "graph.kind is profiles, which needs a profile file in population.profiles, got null"
        yield _of("population.graph.kind population.profiles population.graph.path", problem)


def _columns(config: Config) -> Iterator[Conflict]:
    """Yield columns and attributes of files that cannot be read. The files themselves are read later."""
    population, posts = config.population, config.population.posts
    columns = {name: getattr(population.columns, name) for name in field_types(ColumnsConfig)}
    for name in ("low_threshold", "high_threshold"):
        if columns[name] is not None and columns["engagement_threshold"] is None:
            problem = f"a column for {name} needs one for engagement_threshold, got null"
            yield _of(f"population.columns.{name} population.columns.engagement_threshold", problem)
    named = {f"population.columns.{name}": column for name, column in columns.items()}
    named |= {f"{PLACE}.{name}.column": declared.column for name, declared in population.attributes.items()}
    for key, column in named.items():
        if column is not None and population.profiles is None:
            problem = "a column needs a profile file in population.profiles, got null"
            yield _of(f"{key} population.profiles", problem)
    for name, declared in posts.attributes.items():
        if posts.file is None:
            problem = "an attribute of posts needs a file of posts in population.posts.file, got null"
            yield _of(f"{POSTS_PLACE}.{name} population.posts.file", problem)
        elif declared.is_drawn:
            problem = "attributes of posts are read and not drawn: expected type, min, max, values, default or column"
            yield _of(f"{POSTS_PLACE}.{name}", problem)


def _attributes(config: Config) -> Iterator[Conflict]:
    """Yield the attributes that nothing gives to people; `_columns` yields columns, and margins are read later."""
    population = config.population
    for name, declared in population.attributes.items() if not population.margins else ():
        if population.profiles is None and declared.column is None and not declared.is_complete:
            yield _of(
                f"{PLACE}.{name} population.profiles",
                "has no values: expected a profile file in population.profiles, or a way to draw them: "
                f"{declared.ways}",
            )


def _graph(config: Config) -> Iterator[Conflict]:
    """Yield settings of a generator that do not fit each other or the number of people. A file has its own people."""
    population, graph, key = config.population, config.population.graph, "population.graph.homophily"
    by, share = graph.homophily.by, graph.homophily.share
    is_read = graph.path is not None or graph.kind == "profiles"
    if config.simulation.domain == "social" and not is_read:
        misfit = find_misfit(graph, population.size)
        yield from () if misfit is None else (misfit,)
    yield from _both(key, ("by", "share"), (by is not None, share is not None))
    if by is None or share is None:
        return
    yield from _not_declared(f"{key}.by", by, population.attributes, GROUPS)
    if is_read:
        source = "population.graph.path" if graph.path is not None else "population.graph.kind"
        problem = "homophily is for generated ties: expected none of it, because the ties come from a file"
        yield _of(f"{key}.by {source}", problem)


def _measures(config: Config) -> Iterator[Conflict]:
    """Yield the measures that the configuration cannot have."""
    population, domain = config.population, config.simulation.domain
    for place, name in enumerate(population.measures):
        if problem := measure_problem(name, population.attributes):
            yield _of(f"{MEASURES}[{place}] {PLACE}", problem)
        elif name in population.measures[:place]:
            yield _of(f"{MEASURES}[{place}]", f"expected measures that differ, got {name} more than once")
    if population.measures and domain != "social":
        problem = f"expected no measures of people in the domain {domain}, which has no follow ties"
        yield _of(f"{MEASURES} simulation.domain", problem)


def _choice(config: Config) -> Iterator[Conflict]:
    """Yield the weights of attributes that people do not have, or that are of another type."""
    declared = config.population.attributes
    for name, weight in config.oracle.choice.attributes.items():
        if name in declared:
            if problem := _weight_problem(declared[name], weight):
                yield _of(f"{WEIGHTS}.{name} {PLACE}.{name}", problem)
            continue
        near = f"oracle.choice.{name}" if name in TRAITS else next(iter(get_close_matches(name, declared, n=1)), "")
        meant = f"; did you mean {near}?" if near else ""
        there = ", ".join(declared) or "none"
        yield Conflict((f"{WEIGHTS}.{name}", PLACE), f"no such attribute{meant}; population.attributes has: {there}")


def _weight_problem(declared: AttributeConfig, weight: float | dict[str, float]) -> str:
    """Return the reason why a weight does not fit an attribute; empty if it does."""
    if declared.type != "text":
        return f"expected one weight for type {declared.type}, got a mapping" if isinstance(weight, dict) else ""
    if not isinstance(weight, dict):
        return f"expected a weight for each text, as in {{north: 0.2}}, got {weight:g}"
    unknown = next((value for value in weight if declared.values and value not in declared.values), None)
    return "" if unknown is None else f"expected weights of {', '.join(declared.values)}, got {unknown!r}"


def _exposure(config: Config) -> Iterator[Conflict]:
    weights = {
        "population.relevance.exposure": config.population.relevance.exposure,
        "oracle.choice.exposure": config.oracle.choice.exposure,
    }
    for key, weight in weights.items():
        if weight and (exposure := config.feed.exposure) != "complex":
            problem = f"{key} needs feed.exposure: complex, which shows a cascade again, got {exposure}"
            yield _of(f"{key} feed.exposure", problem)


def _hours(config: Config) -> Iterator[Conflict]:
    simulation = config.simulation
    round_s = simulation.ticks_per_round * simulation.tick_seconds
    if config.population.activity.hours is not None and round_s > HOUR_S:
        yield _of(
            "population.activity.hours simulation.ticks_per_round simulation.tick_seconds",
            f"activity by hours needs rounds of an hour at most: expected ticks_per_round * tick_seconds <= "
            f"{HOUR_S}, got {simulation.ticks_per_round} * {simulation.tick_seconds:g} = {round_s:g} s",
        )


def _oracle(config: Config) -> Iterator[Conflict]:
    oracle = config.oracle
    if oracle.mode == "realtime" and not (config.run.tick_s and config.population.deliberation_minutes):
        yield _of(
            "oracle.mode run.tick_s population.deliberation_minutes",
            "realtime needs run.tick_s and population.deliberation_minutes above 0, or every answer would be too late",
        )
    if oracle.tape != "off" and oracle.backend == "choice":
        yield _of("oracle.tape", f"{oracle.tape} needs a backend that asks a model: ollama or openai, got choice")
    if oracle.tape != "off" and oracle.mode == "realtime":
        problem = "a tape does not know which answers came too late for realtime: expected mode pace, got realtime"
        yield _of("oracle.tape oracle.mode", problem)
    if oracle.tape == "replay" and oracle.tape_path is None:
        problem = "replay needs the tape's file in oracle.tape_path, got null"
        yield _of("oracle.tape oracle.tape_path", problem)


def _sharing(config: Config) -> Iterator[Conflict]:
    by, mode = config.oracle.sharing.by, config.oracle.mode
    if config.oracle.sharing.archetype and by != "archetype":
        yield _of(
            "oracle.sharing.archetype oracle.sharing.by",
            "the fields say which questions are an archetype, and none is used: expected "
            f"oracle.sharing.by=archetype, or oracle.sharing.archetype={{}}, got {by}",
        )
    if by != "none" and mode == "realtime":
        yield _of(
            "oracle.sharing.by oracle.mode",
            "in realtime a late answer would decide who shares: expected sharing.by none or mode pace, got "
            f"{by} and realtime",
        )
    if by != "none" and config.llm.writes:
        problem = f"a text that a model writes is one person's: expected sharing.by none, got {by}"
        yield _of("oracle.sharing.by llm.writes", problem)


def _llm(config: Config) -> Iterator[Conflict]:
    llm, prices = config.llm, config.llm.prices
    if (prices.input is None) != (prices.output is None):
        got = " and ".join("null" if price is None else f"{price:g}" for price in (prices.input, prices.output))
        problem = f"expected both prices, input and output, or neither, got {got}"
        yield _of("llm.prices.input llm.prices.output", problem)
    if config.oracle.max_usd is not None and prices.input is None:
        yield _of(
            "oracle.max_usd llm.prices.input",
            "a cap in US dollars needs the model's prices in llm.prices.input and llm.prices.output, got null",
        )
    if config.simulation.domain == "economy" and llm.method == "probabilities":
        yield _of(
            "llm.method simulation.domain",
            "the policies of an economy are numbers, not options: expected auto or json, got probabilities",
        )


def _models(config: Config) -> Iterator[Conflict]:
    """Yield what is wrong with the models of different people."""
    by, models = config.llm.by.attribute, config.llm.by.models
    domain, declared = config.simulation.domain, config.population.attributes
    yield from _both("llm.by", ("attribute", "models"), (by is not None, bool(models)))
    if by is None or not models:
        return
    if domain != "social":
        problem = f"only people on a feed have models of their own: expected the domain social, got {domain}"
        yield _of("llm.by.attribute simulation.domain", problem)
    elif wrong := [*_not_declared("llm.by.attribute", by, declared, ("text",))]:
        yield from wrong
    else:
        for value in models if declared[by].values else ():
            if value not in declared[by].values:
                problem = f"{by} is never {value!r}: {guess(value, declared[by].values)}"
                yield Conflict((f"llm.by.models.{value}", f"{PLACE}.{by}"), problem)
    if config.oracle.sharing.by == "archetype":
        yield _of(
            "llm.by.attribute oracle.sharing.by",
            "people of one archetype would share the judgements of different models: expected "
            "oracle.sharing.by none, got archetype",
        )


def _economy(config: Config) -> Iterator[Conflict]:
    oracle, economy, initial = config.oracle, config.economy, config.economy.initial
    if config.simulation.domain == "economy":  # a turn is complete in its tick and has no fallback
        if oracle.mode != "pace":
            problem = "an economy waits for every answer, since none can be made up: expected mode pace, got realtime"
            yield _of("oracle.mode simulation.domain", problem)
        if not config.statechart.oracle_enabled:
            problem = "an economy has no policy without its oracle: expected oracle_enabled true, got false"
            yield _of("statechart.oracle_enabled simulation.domain", problem)
        if oracle.when_spent == "fallback" and (oracle.max_calls is not None or oracle.max_tokens is not None):
            problem = "an economy has no fallback once the cap is reached: expected when_spent stop, got fallback"
            yield _of("oracle.when_spent oracle.max_calls oracle.max_tokens simulation.domain", problem)
    nations, taylor = economy.nations, economy.taylor
    yield from _repeated("economy.nations", nations, "names")
    # Names stand in prompts and in log lines, where a line end would begin something new.
    strange = next((name for name in nations if not name.isprintable() or not name.strip()), None)
    if strange is not None:
        yield _of("economy.nations", f"expected names on one line, got {strange!r}")
    if len(economy.strengths) != len(nations):
        problem = f"expected a strength for each nation, got {len(economy.strengths)} for {len(nations)} nations"
        yield _of("economy.strengths economy.nations", problem)
    if taylor.rate_step > taylor.rate_step_max:
        problem = f"expected rate_step <= rate_step_max, got {taylor.rate_step:g} and {taylor.rate_step_max:g}"
        yield _of("economy.taylor.rate_step economy.taylor.rate_step_max", problem)
    if initial.quarter is not None:
        if initial.path is None:
            problem = f"the quarter {initial.quarter} needs a file in economy.initial.path, got null"
            yield _of("economy.initial.quarter economy.initial.path", problem)
        try:
            Quarter.parse(initial.quarter)
        except ValueError as error:
            yield _of("economy.initial.quarter", str(error))
    for period in economy.backtest.periods:
        try:
            Period.parse(period)
        except ValueError as error:
            yield _of("economy.backtest.periods", str(error))
    for name in _INDICATORS if initial.path is not None else ():
        if (given := getattr(initial, name)) != getattr(InitialConfig(), name):
            problem = f"a file in path takes the place of {name}: expected one of the two, got {given:g}"
            yield _of(f"economy.initial.{name} economy.initial.path", problem)


def _shards(config: Config) -> Iterator[Conflict]:
    """Yield the settings with which agents cannot be divided: what one does would depend on more than its acts."""
    oracle, llm, run = config.oracle, config.llm, config.run
    newest = "seen or root, as the newest post that came to somebody is known to their shard only"
    needed = {
        "simulation.domain": (config.simulation.domain == "social", "social"),
        "feed.reshare_credit": (config.feed.reshare_credit != "newest", newest),
        "run.record_feeds": (not run.record_feeds, "false, as a feed is known to its reader's shard only"),
        "llm.memory": (not llm.memory, "0, as what somebody remembers is known to their shard only"),
        "llm.writes": (not llm.writes, "false, as a text is known to its author's shard only"),
        "oracle.mode": (oracle.mode == "pace", "pace"),
        "oracle.sharing.by": (oracle.sharing.by == "none", "none, as judgements note what only somebody's shard knows"),
    }
    for key, (is_so, expected) in needed.items():
        if run.shards > 1 and not is_so:
            yield _of(f"{key} run.shards", f"with run.shards, {key} must be {expected}")
