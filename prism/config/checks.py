"""The checks of settings against each other. Each setting's own type and range are in `prism.config.model`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import chain

from prism.checked import field_types
from prism.clock import SimulatedClock
from prism.config.attributes import PLACE, POSTS_PLACE, TRAITS, WEIGHTS, AttributeConfig
from prism.config.domain_settings import places_of
from prism.config.graph_fit import Conflict, find_misfit
from prism.config.measures import GROUPS, measure_problem
from prism.config.measures import PLACE as MEASURES
from prism.config.model import (
    ColumnsConfig,
    EconomyConfig,
    FeedConfig,
    InitialConfig,
    LLMConfig,
    OracleConfig,
    PopulationConfig,
    RunConfig,
    SimulationConfig,
    StatechartConfig,
)
from prism.expectations import guess
from prism.quarter import Period, Quarter

SHIPPED_DOMAINS = ("social", "economy")
"""The domains that come with PRISM. Their settings have sections of their own."""

HOUR_S = 3600
SESSION_TICKS = 4
"""The fewest ticks in which a person can come online, see a post, decide and act."""

_CALENDAR = tuple(f"simulation.{name}" for name in ("epoch", "ticks", "rounds", "ticks_per_round", "tick_seconds"))
"""The settings that decide the time of the last tick."""

_BY_ALL = "seen or root, as the newest post that came to somebody is known to their shard only"

_INDICATORS = ("interest_rate", "inflation", "gdp_growth", "unemployment", "total_economic_value")
"""The settings of `economy.initial` that a file replaces."""


def find_conflicts(  # noqa: PLR0913  # each section that others contradict
    *,
    simulation: SimulationConfig,
    population: PopulationConfig,
    feed: FeedConfig,
    statechart: StatechartConfig,
    oracle: OracleConfig,
    llm: LLMConfig,
    economy: EconomyConfig,
    domain: Mapping[str, object],
    run: RunConfig,
) -> list[Conflict]:
    """Return the conflicts between the sections of a configuration."""
    return list(
        chain(
            _domain_conflicts(simulation, domain),
            _time_conflicts(simulation),
            _population_conflicts(population),
            _column_conflicts(population),
            _attribute_conflicts(population),
            _graph_conflicts(population) if simulation.domain == "social" else (),
            _homophily_conflicts(population),
            _measure_conflicts(population, simulation),
            _turn_conflicts(oracle, statechart) if simulation.domain == "economy" else (),
            _choice_conflicts(population, oracle),
            _exposure_conflicts(population, feed, oracle),
            _hour_conflicts(population, simulation),
            _oracle_conflicts(oracle, population, run),
            _sharing_conflicts(oracle, llm),
            _llm_conflicts(llm, oracle, simulation),
            _models_conflicts(llm, population, oracle, simulation),
            _economy_conflicts(economy),
            _history_conflicts(economy),
            _shard_conflicts(run, simulation, feed, llm, oracle),
        )
    )


def _domain_conflicts(simulation: SimulationConfig, domain: Mapping[str, object]) -> Iterator[Conflict]:
    if domain and simulation.domain in SHIPPED_DOMAINS:
        yield Conflict(
            (*sorted(places_of(domain), key=lambda place: -place.count(".")), "simulation.domain"),
            f"the {simulation.domain} domain has no settings below the key domain, which is for domains of "
            f"your own, got {', '.join(domain)}",
        )


def _time_conflicts(simulation: SimulationConfig) -> Iterator[Conflict]:
    if simulation.domain == "social" and simulation.ticks_per_round < SESSION_TICKS:
        yield Conflict(
            ("simulation.ticks_per_round", "simulation.domain"),
            f"expected ticks_per_round >= {SESSION_TICKS} in the social domain, where a session takes as many, "
            f"got {simulation.ticks_per_round}",
        )
    ticks = simulation.length
    try:
        for tick in (0, ticks):
            SimulatedClock(simulation.epoch, simulation.tick_seconds).at(tick)
    except OverflowError:
        yield Conflict(
            _CALENDAR,
            f"expected all of the run between the years 1 and 9999, got {ticks} ticks of "
            f"{simulation.tick_seconds:g} s from {simulation.epoch.isoformat()}",
        )


def _exposure_conflicts(population: PopulationConfig, feed: FeedConfig, oracle: OracleConfig) -> Iterator[Conflict]:
    weights = {
        "population.relevance.exposure": population.relevance.exposure,
        "oracle.choice.exposure": oracle.choice.exposure,
    }
    for key, weight in weights.items():
        if weight and feed.exposure != "complex":
            yield Conflict(
                (key, "feed.exposure"),
                f"{key} needs feed.exposure: complex, which shows a cascade again, got {feed.exposure}",
            )


def _hour_conflicts(population: PopulationConfig, simulation: SimulationConfig) -> Iterator[Conflict]:
    round_s = simulation.ticks_per_round * simulation.tick_seconds
    if population.activity.hours is not None and round_s > HOUR_S:
        yield Conflict(
            ("population.activity.hours", "simulation.ticks_per_round", "simulation.tick_seconds"),
            f"activity by hours needs rounds of an hour at most: expected ticks_per_round * tick_seconds <= "
            f"{HOUR_S}, got {simulation.ticks_per_round} * {simulation.tick_seconds:g} = {round_s:g} s",
        )


def _population_conflicts(population: PopulationConfig) -> Iterator[Conflict]:
    topics, wanted = population.topics, population.interests_per_person
    repeated = next((topic for index, topic in enumerate(topics) if topic in topics[:index]), None)
    if repeated is not None:
        yield Conflict(("population.topics",), f"expected topics that differ, got {repeated!r} more than once")
    # Profiles bring interests of their own, so the topics of synthetic people go unused.
    if population.profiles is None and wanted > len(topics):
        yield Conflict(
            ("population.interests_per_person", "population.topics"),
            f"expected interests_per_person <= the number of topics, got {wanted} and {len(topics)}",
        )
    if population.profiles is not None and population.margins:
        yield Conflict(
            ("population.margins", "population.profiles"),
            "people come from profiles or from margins: expected only one of them",
        )
    try:
        "a".encode(population.encoding)
    except (LookupError, ValueError):
        yield Conflict(
            ("population.encoding",),
            f"expected an encoding of texts, such as utf-8, utf-16 or cp1252, got {population.encoding!r}",
        )
    if population.join != "id" and population.profiles is None:
        yield Conflict(
            ("population.join", "population.profiles"),
            f"{population.join} joins people to a profile file in population.profiles, got null",
        )
    has_ids = population.join == "id" and population.profiles is not None and population.graph.path is not None
    others = population.posts.file, population.activity.hours
    if population.unmatched is not None and not has_ids and not any(isinstance(each, str) for each in others):
        yield Conflict(
            ("population.unmatched", "population.join", "population.profiles", "population.graph.path"),
            f"{population.unmatched} is about people in one of two files: expected population.profiles and "
            "population.graph.path, joined by id, or posts or hours of people",
        )
    # A graph file overrides the kind, which then asks for nothing.
    if population.graph.kind == "profiles" and population.profiles is None and population.graph.path is None:
        yield Conflict(
            ("population.graph.kind", "population.profiles", "population.graph.path"),
            "graph.kind is profiles, which needs a profile file in population.profiles, got null",
        )


def _column_conflicts(population: PopulationConfig) -> Iterator[Conflict]:
    """Yield columns and attributes of files that cannot be read. The files themselves are read later."""
    columns = {name: getattr(population.columns, name) for name in field_types(ColumnsConfig)}
    for name in ("low_threshold", "high_threshold"):
        if columns[name] is not None and columns["engagement_threshold"] is None:
            yield Conflict(
                (f"population.columns.{name}", "population.columns.engagement_threshold"),
                f"a column for {name} needs one for engagement_threshold, got null",
            )
    named = {f"population.columns.{name}": column for name, column in columns.items()}
    named |= {f"{PLACE}.{name}.column": declared.column for name, declared in population.attributes.items()}
    for key, column in named.items():
        if column is not None and population.profiles is None:
            yield Conflict(
                (key, "population.profiles"), "a column needs a profile file in population.profiles, got null"
            )
    posts = population.posts
    for name, declared in posts.attributes.items():
        if posts.file is None:
            problem = "an attribute of posts needs a file of posts in population.posts.file, got null"
            yield Conflict((f"{POSTS_PLACE}.{name}", "population.posts.file"), problem)
        elif declared.is_drawn:
            problem = "attributes of posts are read and not drawn: expected type, min, max, values, default or column"
            yield Conflict((f"{POSTS_PLACE}.{name}",), problem)


def _attribute_conflicts(population: PopulationConfig) -> Iterator[Conflict]:
    """Yield the attributes that nothing gives to people, without profiles; `_column_conflicts` yields columns."""
    if population.margins:  # they are read later
        return
    for name, declaration in population.attributes.items():
        if population.profiles is None and declaration.column is None and not declaration.is_complete:
            yield Conflict(
                (f"{PLACE}.{name}", "population.profiles"),
                "has no values: expected a profile file in population.profiles, or a way to draw them: "
                f"{declaration.ways}",
            )


def _choice_conflicts(population: PopulationConfig, oracle: OracleConfig) -> Iterator[Conflict]:
    """Yield the weights of attributes that people do not have, or that are of another type."""
    declared = population.attributes
    for name, weight in oracle.choice.attributes.items():
        key = f"{WEIGHTS}.{name}"
        if name not in declared:
            elsewhere = f"; did you mean oracle.choice.{name}?" if name in TRAITS else ""
            close = get_close_matches(name, declared, n=1)
            meant = elsewhere or (f"; did you mean {close[0]}?" if close else "")
            there = ", ".join(declared) or "none"
            problem = f"no such attribute{meant}; population.attributes has: {there}"
            yield Conflict((key, PLACE), problem)
            continue
        problem = _weight_problem(declared[name], weight)
        if problem:
            yield Conflict((key, f"{PLACE}.{name}"), problem)


def _weight_problem(declared: AttributeConfig, weight: float | dict[str, float]) -> str:
    """Return the reason why a weight does not fit an attribute; empty if it does."""
    if declared.type != "text":
        return f"expected one weight for type {declared.type}, got a mapping" if isinstance(weight, dict) else ""
    if not isinstance(weight, dict):
        return f"expected a weight for each text, as in {{north: 0.2}}, got {weight:g}"
    unknown = next((value for value in weight if declared.values and value not in declared.values), None)
    return "" if unknown is None else f"expected weights of {', '.join(declared.values)}, got {unknown!r}"


def _graph_conflicts(population: PopulationConfig) -> Iterator[Conflict]:
    """Yield the settings of a generator that do not fit the number of people. A file has people of its own."""
    if population.graph.path is None and population.graph.kind != "profiles":
        misfit = find_misfit(population.graph, population.size)
        if misfit is not None:
            yield misfit


def _homophily_conflicts(population: PopulationConfig) -> Iterator[Conflict]:
    """Yield what is wrong with a homophily that was asked for."""
    graph, by, share = population.graph, population.graph.homophily.by, population.graph.homophily.share
    key = "population.graph.homophily"
    if (by is None) != (share is None):
        given, missing = ("share", "by") if by is None else ("by", "share")
        yield Conflict(
            (f"{key}.{given}", f"{key}.{missing}"), f"expected both by and share, or neither: {missing} is missing"
        )
    if by is None or share is None:
        return
    if by not in population.attributes:
        known = guess(by, list(population.attributes)) if population.attributes else f"{PLACE} declares none"
        yield Conflict((f"{key}.by", PLACE), f"no attribute {by!r}: {known}")
    elif (kind := population.attributes[by].type) not in GROUPS:
        problem = f"expected an attribute of type {' or '.join(GROUPS)}, got {by} of type {kind}"
        yield Conflict((f"{key}.by", f"{PLACE}.{by}"), problem)
    if graph.path is not None or graph.kind == "profiles":
        source = "population.graph.path" if graph.path is not None else "population.graph.kind"
        problem = "homophily is for generated ties: expected none of it, because the ties come from a file"
        yield Conflict((f"{key}.by", source), problem)


def _measure_conflicts(population: PopulationConfig, simulation: SimulationConfig) -> Iterator[Conflict]:
    """Yield the measures that the configuration cannot have."""
    for place, name in enumerate(population.measures):
        key = f"{MEASURES}[{place}]"
        if problem := measure_problem(name, population.attributes):
            yield Conflict((key, PLACE), problem)
        elif name in population.measures[:place]:
            yield Conflict((key,), f"expected measures that differ, got {name} more than once")
    if population.measures and simulation.domain != "social":
        problem = f"expected no measures of people in the domain {simulation.domain}, which has no follow ties"
        yield Conflict((MEASURES, "simulation.domain"), problem)


def _turn_conflicts(oracle: OracleConfig, statechart: StatechartConfig) -> Iterator[Conflict]:
    """Yield the settings that a turn of an economy does not allow: it is complete in its tick and has no fallback."""
    if oracle.mode != "pace":
        yield Conflict(
            ("oracle.mode", "simulation.domain"),
            "an economy waits for every answer, since none can be made up: expected mode pace, got realtime",
        )
    if not statechart.oracle_enabled:
        yield Conflict(
            ("statechart.oracle_enabled", "simulation.domain"),
            "an economy has no policy without its oracle: expected oracle_enabled true, got false",
        )
    if oracle.when_spent == "fallback" and (oracle.max_calls is not None or oracle.max_tokens is not None):
        yield Conflict(
            ("oracle.when_spent", "oracle.max_calls", "oracle.max_tokens", "simulation.domain"),
            "an economy has no fallback once the cap is reached: expected when_spent stop, got fallback",
        )


def _oracle_conflicts(oracle: OracleConfig, population: PopulationConfig, run: RunConfig) -> Iterator[Conflict]:
    if oracle.mode == "realtime" and not (run.tick_s and population.deliberation_minutes):
        yield Conflict(
            ("oracle.mode", "run.tick_s", "population.deliberation_minutes"),
            "realtime needs run.tick_s and population.deliberation_minutes above 0, or every answer would be too late",
        )
    if oracle.tape != "off" and oracle.backend == "choice":
        yield Conflict(
            ("oracle.tape",), f"{oracle.tape} needs a backend that asks a model: ollama or openai, got choice"
        )
    if oracle.tape != "off" and oracle.mode == "realtime":
        yield Conflict(
            ("oracle.tape", "oracle.mode"),
            "a tape does not know which answers came too late for realtime: expected mode pace, got realtime",
        )
    if oracle.tape == "replay" and oracle.tape_path is None:
        yield Conflict(
            ("oracle.tape", "oracle.tape_path"), "replay needs the tape's file in oracle.tape_path, got null"
        )


def _shard_conflicts(
    run: RunConfig, simulation: SimulationConfig, feed: FeedConfig, llm: LLMConfig, oracle: OracleConfig
) -> Iterator[Conflict]:
    """Yield the settings with which agents cannot be divided: what one does would depend on more than its acts."""
    needed = {
        "simulation.domain": (simulation.domain == "social", "social"),
        "feed.reshare_credit": (feed.reshare_credit != "newest", _BY_ALL),
        "run.record_feeds": (not run.record_feeds, "false, as a feed is known to its reader's shard only"),
        "llm.memory": (not llm.memory, "0, as what somebody remembers is known to their shard only"),
        "llm.writes": (not llm.writes, "false, as a text is known to its author's shard only"),
        "oracle.mode": (oracle.mode == "pace", "pace"),
        "oracle.sharing.by": (oracle.sharing.by == "none", "none, as judgements note what only somebody's shard knows"),
    }
    for key, (is_so, expected) in needed.items():
        if run.shards > 1 and not is_so:
            yield Conflict((key, "run.shards"), f"with run.shards, {key} must be {expected}")


def _sharing_conflicts(oracle: OracleConfig, llm: LLMConfig) -> Iterator[Conflict]:
    sharing = oracle.sharing
    if sharing.archetype and sharing.by != "archetype":
        yield Conflict(
            ("oracle.sharing.archetype", "oracle.sharing.by"),
            "the fields say which questions are an archetype, and none is used: expected "
            f"oracle.sharing.by=archetype, or oracle.sharing.archetype={{}}, got {sharing.by}",
        )
    if sharing.by == "none":
        return
    if oracle.mode == "realtime":
        yield Conflict(
            ("oracle.sharing.by", "oracle.mode"),
            "in realtime a late answer would decide who shares: expected sharing.by none or mode pace, got "
            f"{sharing.by} and realtime",
        )
    if llm.writes:
        yield Conflict(
            ("oracle.sharing.by", "llm.writes"),
            f"a text that a model writes is one person's: expected sharing.by none, got {sharing.by}",
        )


def _llm_conflicts(llm: LLMConfig, oracle: OracleConfig, simulation: SimulationConfig) -> Iterator[Conflict]:
    prices = llm.prices
    if (prices.input is None) != (prices.output is None):
        yield Conflict(
            ("llm.prices.input", "llm.prices.output"),
            "expected both prices, input and output, or neither, got "
            f"{_or_null(prices.input)} and {_or_null(prices.output)}",
        )
    if oracle.max_usd is not None and prices.input is None:
        yield Conflict(
            ("oracle.max_usd", "llm.prices.input"),
            "a cap in US dollars needs the model's prices in llm.prices.input and llm.prices.output, got null",
        )
    repeated = next((host for index, host in enumerate(llm.hosts) if host in llm.hosts[:index]), None)
    if repeated is not None:
        yield Conflict(("llm.hosts",), f"expected addresses that differ, got {repeated!r} more than once")
    if simulation.domain == "economy" and llm.method == "probabilities":
        yield Conflict(
            ("llm.method", "simulation.domain"),
            "the policies of an economy are numbers, not options: expected auto or json, got probabilities",
        )


def _models_conflicts(
    llm: LLMConfig, population: PopulationConfig, oracle: OracleConfig, simulation: SimulationConfig
) -> Iterator[Conflict]:
    """Yield what is wrong with the models of different people."""
    by, models = llm.by.attribute, llm.by.models
    if (by is None) != (not models):
        given, missing = ("models", "attribute") if by is None else ("attribute", "models")
        problem = f"expected both attribute and models, or neither: {missing} is missing"
        yield Conflict((f"llm.by.{given}", f"llm.by.{missing}"), problem)
    if by is None or not models:
        return
    if simulation.domain != "social":
        problem = f"only people on a feed have models of their own: expected the domain social, got {simulation.domain}"
        yield Conflict(("llm.by.attribute", "simulation.domain"), problem)
    else:
        yield from _model_attribute_conflicts(by, models, population.attributes)
    if oracle.sharing.by == "archetype":
        yield Conflict(
            ("llm.by.attribute", "oracle.sharing.by"),
            "people of one archetype would share the judgements of different models: expected "
            "oracle.sharing.by none, got archetype",
        )


def _model_attribute_conflicts(
    by: str, models: Mapping[str, str], declared: Mapping[str, AttributeConfig]
) -> Iterator[Conflict]:
    """Yield why an attribute, or a value of it, does not say which model is asked."""
    if by not in declared:
        known = guess(by, list(declared)) if declared else f"{PLACE} declares none"
        yield Conflict(("llm.by.attribute", PLACE), f"no attribute {by!r}: {known}")
    elif declared[by].type != "text":
        problem = f"expected an attribute of type text, got {by} of type {declared[by].type}"
        yield Conflict(("llm.by.attribute", f"{PLACE}.{by}"), problem)
    elif declared[by].values:
        for value in models:
            if value not in declared[by].values:
                problem = f"{by} is never {value!r}: {guess(value, declared[by].values)}"
                yield Conflict((f"llm.by.models.{value}", f"{PLACE}.{by}"), problem)


def _economy_conflicts(economy: EconomyConfig) -> Iterator[Conflict]:
    nations, taylor = economy.nations, economy.taylor
    repeated = next((name for index, name in enumerate(nations) if name in nations[:index]), None)
    if repeated is not None:
        yield Conflict(("economy.nations",), f"expected names that differ, got {repeated!r} more than once")
    # Names stand in prompts and in log lines, where a line end would begin something new.
    strange = next((name for name in nations if not name.isprintable() or not name.strip()), None)
    if strange is not None:
        yield Conflict(("economy.nations",), f"expected names on one line, got {strange!r}")
    if len(economy.strengths) != len(nations):
        yield Conflict(
            ("economy.strengths", "economy.nations"),
            f"expected a strength for each nation, got {len(economy.strengths)} for {len(nations)} nations",
        )
    if taylor.rate_step > taylor.rate_step_max:
        yield Conflict(
            ("economy.taylor.rate_step", "economy.taylor.rate_step_max"),
            f"expected rate_step <= rate_step_max, got {taylor.rate_step:g} and {taylor.rate_step_max:g}",
        )


def _history_conflicts(economy: EconomyConfig) -> Iterator[Conflict]:
    initial = economy.initial
    if initial.quarter is not None:
        if initial.path is None:
            yield Conflict(
                ("economy.initial.quarter", "economy.initial.path"),
                f"the quarter {initial.quarter} needs a file in economy.initial.path, got null",
            )
        try:
            Quarter.parse(initial.quarter)
        except ValueError as error:
            yield Conflict(("economy.initial.quarter",), str(error))
    for name in _INDICATORS if initial.path is not None else ():
        given = getattr(initial, name)
        if given != getattr(InitialConfig(), name):
            yield Conflict(
                (f"economy.initial.{name}", "economy.initial.path"),
                f"a file in path takes the place of {name}: expected one of the two, got {given:g}",
            )
    for period in economy.backtest.periods:
        try:
            Period.parse(period)
        except ValueError as error:
            yield Conflict(("economy.backtest.periods",), str(error))


def _or_null(price: float | None) -> str:
    return "null" if price is None else f"{price:g}"
