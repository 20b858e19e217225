"""The checks of settings against each other. Each setting's own type and range are in `prism.config.model`.

An error of an intervention names the intervention, also if another setting was set last: otherwise it would not say
which one is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from prism.checked import field_types
from prism.clock import SimulatedClock
from prism.config.attributes import (
    GROUPS,
    MEASURES,
    PLACE,
    POSTS_PLACE,
    TRAITS,
    WEIGHTS,
    AttributeConfig,
    measure_problem,
)
from prism.config.interventions import (
    CHANGEABLE,
    INDICATORS,
    KINDS_OF,
    PUBLISHED_AT_ONCE,
    InterventionConfig,
    not_numbered,
    numbered_nation,
    placed_agents,
)
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.config.model import ColumnsConfig, GraphConfig, InitialConfig, SimulationConfig
from prism.config.section import DOMAIN, places_of
from prism.errors import SettingError
from prism.expectations import guess, join, meant
from prism.quarter import Period, Quarter

if TYPE_CHECKING:
    from prism.config.config import Config

SHIPPED_DOMAINS: Final = ("social", "economy")
"""The domains that come with PRISM. Their settings have sections of their own."""
HOUR_S: Final = 3600
SESSION_TICKS: Final = 4
"""The fewest ticks in which a person can come online, see a post, decide and act."""
POWER_LAW_SHARE: Final = 4
"""On average a person follows at most one in so many people. The generator takes very long to draw more ties."""
_SIZE, _DEGREE, _KIND = "population.size", "population.graph.degree", "population.graph.kind"


def find_conflicts(config: Config) -> list[SettingError]:
    """Return the errors of settings that contradict each other."""
    checks = (_simulation, _population, _files, _graph, _measures, _choice, _oracle, _llm, _economy, _shards)
    found = [error for check in checks for error in check(config)]
    return [*found, *find_intervention_conflicts(config, config.interventions)]


def find_intervention_conflicts(config: Config, interventions: Sequence[InterventionConfig]) -> list[SettingError]:
    """Return the first conflict of each intervention with the domain or the length of the run.

    If there is no such conflict, return those with the agents of the run, which depend on the domain.
    """
    places = (f"{INTERVENTIONS}[{index}]" for index in range(len(interventions)))
    firsts = (next(_when(*each, config.simulation), None) for each in zip(places, interventions, strict=False))
    return [each for each in firsts if each is not None] or [*_agents(config, interventions)]


def _clash(keys: str | Sequence[str], problem: str) -> SettingError:
    """Return the error of settings that are each valid and contradict each other.

    Args:
        keys: their dotted paths; a text has spaces between them. The first one is to blame, unless it is known which
            was set last.
        problem: the conflict, in words that are right for any of the keys.
    """
    return SettingError("Config", problem, keys=keys.split() if isinstance(keys, str) else keys)


def _repeated(key: str, names: Sequence[str], what: str) -> Iterator[SettingError]:
    repeated = next((name for index, name in enumerate(names) if name in names[:index]), None)
    if repeated is not None:
        yield _clash(key, f"expected {what} that differ, got {repeated!r} more than once")


def _both(section: str, **given: bool) -> Iterator[SettingError]:
    """Yield an error if only one of two settings is given, because neither has a meaning without the other."""
    if len({*given.values()}) > 1:
        present, missing = sorted(given, key=lambda name: not given[name])
        problem = f"expected both {' and '.join(given)}, or neither: {missing} is missing"
        yield _clash(f"{section}.{present} {section}.{missing}", problem)


def _not_declared(config: Config, key: str, name: str, kinds: Collection[str]) -> Iterator[SettingError]:
    """Yield an error if people have no such attribute, or if it is of another type."""
    declared = config.population.attributes
    if name not in declared:
        known = guess(name, list(declared)) if declared else f"{PLACE} declares none"
        yield _clash(f"{key} {PLACE}", f"no attribute {name!r}: {known}")
    elif (kind := declared[name].type) not in kinds:
        problem = f"expected an attribute of type {' or '.join(kinds)}, got {name} of type {kind}"
        yield _clash(f"{key} {PLACE}.{name}", problem)


def _simulation(config: Config) -> Iterator[SettingError]:
    simulation, ticks, domain = config.simulation, config.simulation.length, config.simulation.domain
    if config.domain and domain in SHIPPED_DOMAINS:
        places = sorted(places_of(config.domain), key=lambda place: -place.count("."))
        problem = f"the {domain} domain has no settings below the key domain, which is for domains of your own"
        yield _clash((*places, "simulation.domain"), f"{problem}, got {', '.join(config.domain)}")
    if domain == "social" and simulation.ticks_per_round < SESSION_TICKS:
        problem = f"expected ticks_per_round >= {SESSION_TICKS} in the social domain, where a session takes as many"
        yield _clash("simulation.ticks_per_round simulation.domain", f"{problem}, got {simulation.ticks_per_round}")
    try:
        for tick in (0, ticks):
            SimulatedClock(simulation.epoch, simulation.tick_seconds).at(tick)
    except OverflowError:
        calendar = ("epoch", "ticks", "rounds", "ticks_per_round", "tick_seconds")
        got = f"{ticks} ticks of {simulation.tick_seconds:g} s from {simulation.epoch.isoformat()}"
        problem = f"expected all of the run between the years 1 and 9999, got {got}"
        yield _clash([f"simulation.{name}" for name in calendar], problem)


def _population(config: Config) -> Iterator[SettingError]:
    population, topics, simulation = config.population, config.population.topics, config.simulation
    profiles, ties = population.profiles, population.graph.path
    yield from _repeated("population.topics", topics, "topics")
    # Profiles bring interests of their own, so the topics of synthetic people go unused.
    if profiles is None and population.interests_per_person > len(topics):
        got = f"{population.interests_per_person} and {len(topics)}"
        problem = f"expected interests_per_person <= the number of topics, got {got}"
        yield _clash("population.interests_per_person population.topics", problem)
    if profiles is not None and population.margins:
        problem = "people come from profiles or from margins: expected only one of them"
        yield _clash("population.margins population.profiles", problem)
    try:
        "a".encode(population.encoding)
    except (LookupError, ValueError):
        problem = f"expected an encoding of texts, such as utf-8, utf-16 or cp1252, got {population.encoding!r}"
        yield _clash("population.encoding", problem)
    if population.join != "id" and profiles is None:
        problem = f"{population.join} joins people to a profile file in population.profiles, got null"
        yield _clash("population.join population.profiles", problem)
    has_ids = population.join == "id" and profiles is not None and ties is not None
    others = population.posts.file, population.activity.hours
    if population.unmatched is not None and not has_ids and not any(isinstance(each, str) for each in others):
        yield _clash(
            "population.unmatched population.join population.profiles population.graph.path",
            f"{population.unmatched} is about people in one of two files: expected population.profiles and "
            "population.graph.path, joined by id, or posts or hours of people",
        )
    # A graph file overrides the kind, which then asks for nothing.
    if population.graph.kind == "profiles" and profiles is None and ties is None:
        problem = "graph.kind is profiles, which needs a profile file in population.profiles, got null"
        yield _clash(f"{_KIND} population.profiles population.graph.path", problem)
    weights = {"population.relevance": population.relevance.exposure, "oracle.choice": config.oracle.choice.exposure}
    for section, weight in weights.items():
        if weight and (exposure := config.feed.exposure) != "complex":
            key = f"{section}.exposure"
            problem = f"{key} needs feed.exposure: complex, which shows a cascade again, got {exposure}"
            yield _clash(f"{key} feed.exposure", problem)
    round_s = simulation.ticks_per_round * simulation.tick_seconds
    if population.activity.hours is not None and round_s > HOUR_S:
        got = f"{simulation.ticks_per_round} * {simulation.tick_seconds:g} = {round_s:g} s"
        yield _clash(
            "population.activity.hours simulation.ticks_per_round simulation.tick_seconds",
            "activity by hours needs rounds of an hour at most: expected ticks_per_round * tick_seconds <= "
            f"{HOUR_S}, got {got}",
        )


def _files(config: Config) -> Iterator[SettingError]:
    """Yield columns and attributes that no file gives. The files themselves are read later, and so are margins."""
    population, posts = config.population, config.population.posts
    columns = {name: getattr(population.columns, name) for name in field_types(ColumnsConfig)}
    for name in ("low_threshold", "high_threshold"):
        if columns[name] is not None and columns["engagement_threshold"] is None:
            problem = f"a column for {name} needs one for engagement_threshold, got null"
            yield _clash(f"population.columns.{name} population.columns.engagement_threshold", problem)
    named = {f"population.columns.{name}": column for name, column in columns.items()}
    named |= {f"{PLACE}.{name}.column": declared.column for name, declared in population.attributes.items()}
    for key, column in named.items():
        if column is not None and population.profiles is None:
            yield _clash(f"{key} population.profiles", "a column needs a profile file in population.profiles, got null")
    for name, declared in posts.attributes.items():
        if posts.file is None:
            problem = "an attribute of posts needs a file of posts in population.posts.file, got null"
            yield _clash(f"{POSTS_PLACE}.{name} population.posts.file", problem)
        elif declared.is_drawn:
            problem = "attributes of posts are read and not drawn: expected type, min, max, values, default or column"
            yield _clash(f"{POSTS_PLACE}.{name}", problem)
    for name, declared in population.attributes.items() if not population.margins else ():
        if population.profiles is None and declared.column is None and not declared.is_complete:
            problem = "has no values: expected a profile file in population.profiles, or a way to draw them"
            yield _clash(f"{PLACE}.{name} population.profiles", f"{problem}: {declared.ways}")


def _graph(config: Config) -> Iterator[SettingError]:
    """Yield settings of a generator that do not fit each other or the number of people. A file has its own people."""
    graph, key = config.population.graph, "population.graph.homophily"
    by, share = graph.homophily.by, graph.homophily.share
    is_read = graph.path is not None or graph.kind == "profiles"
    if config.simulation.domain == "social" and not is_read:
        yield from filter(None, [find_misfit(graph, config.population.size)])
    yield from _both(key, by=by is not None, share=share is not None)
    if by is not None and share is not None:
        yield from _not_declared(config, f"{key}.by", by, GROUPS)
        if is_read:
            source = "population.graph.path" if graph.path is not None else _KIND
            problem = "homophily is for generated ties: expected none of it, because the ties come from a file"
            yield _clash(f"{key}.by {source}", problem)


def find_misfit(graph: GraphConfig, size: int) -> SettingError | None:
    """Return the reason why the generator can make no graph of `size` people; None if it can."""
    degree, kind = graph.degree_among(size), graph.kind
    if degree >= size:
        return _clash(f"{_DEGREE} {_SIZE}", f"expected graph.degree < the number of people, got {degree} and {size}")
    if kind == "watts_strogatz" and degree % 2:
        return _clash(f"{_DEGREE} {_KIND}", f"expected an even graph.degree for watts_strogatz, got {degree}")
    if kind == "power_law" and degree * POWER_LAW_SHARE > size:
        problem = f"expected graph.degree <= a quarter of the people for power_law, got {degree} and {size}"
        return _clash(f"{_DEGREE} {_SIZE} {_KIND}", problem)
    if kind != "stochastic_block":
        return None
    if graph.blocks > size:
        problem = f"expected graph.blocks <= the number of people, got {graph.blocks} and {size}"
        return _clash(f"population.graph.blocks {_SIZE} {_KIND}", problem)
    ways = ("inside the communities", "raise mixing"), ("between communities", "lower mixing")
    for (wanted, pairs), (where, remedy) in zip(block_ties(graph, size), ways, strict=True):
        if wanted > pairs:
            problem = f"stochastic_block wants {wanted:.0f} ties {where}, where {pairs} fit: {remedy} or lower degree"
            return _clash(f"population.graph.mixing {_DEGREE} population.graph.blocks {_SIZE} {_KIND}", problem)
    return None


def block_ties(graph: GraphConfig, size: int) -> tuple[tuple[float, int], tuple[float, int]]:
    """Return the mean number of ties of a stochastic block graph and the pairs of people that can have one.

    First those inside its communities, then those between them. `size % blocks` communities have one person more than
    the others.
    """
    people, larger = divmod(size, graph.blocks)
    inside = larger * (people + 1) * people // 2 + (graph.blocks - larger) * people * (people - 1) // 2
    ties = size * graph.degree_among(size) / 2.0
    return (ties * (1.0 - graph.mixing), inside), (ties * graph.mixing, size * (size - 1) // 2 - inside)


def _measures(config: Config) -> Iterator[SettingError]:
    measures, domain = config.population.measures, config.simulation.domain
    for place, name in enumerate(measures):
        if problem := measure_problem(name, config.population.attributes):
            yield _clash(f"{MEASURES}[{place}] {PLACE}", problem)
        elif name in measures[:place]:
            yield _clash(f"{MEASURES}[{place}]", f"expected measures that differ, got {name} more than once")
    if measures and domain != "social":
        problem = f"expected no measures of people in the domain {domain}, which has no follow ties"
        yield _clash(f"{MEASURES} simulation.domain", problem)


def _choice(config: Config) -> Iterator[SettingError]:
    """Yield the weights of attributes that people do not have, or that are of another type."""
    declared = config.population.attributes
    for name, weight in config.oracle.choice.attributes.items():
        if name not in declared:
            near = f"; did you mean oracle.choice.{name}?" if name in TRAITS else meant(name, declared)
            problem = f"no such attribute{near}; {PLACE} has: {', '.join(declared) or 'none'}"
            yield _clash((f"{WEIGHTS}.{name}", PLACE), problem)
        elif problem := _weight_problem(declared[name], weight):
            yield _clash(f"{WEIGHTS}.{name} {PLACE}.{name}", problem)


def _weight_problem(declared: AttributeConfig, weight: float | dict[str, float]) -> str:
    """Return the reason why a weight does not fit an attribute; empty if it does."""
    if declared.type != "text":
        return f"expected one weight for type {declared.type}, got a mapping" if isinstance(weight, dict) else ""
    if not isinstance(weight, dict):
        return f"expected a weight for each text, as in {{north: 0.2}}, got {weight:g}"
    unknown = next((value for value in weight if declared.values and value not in declared.values), None)
    return "" if unknown is None else f"expected weights of {', '.join(declared.values)}, got {unknown!r}"


def _oracle(config: Config) -> Iterator[SettingError]:
    oracle, by = config.oracle, config.oracle.sharing.by
    if oracle.mode == "realtime" and not (config.run.tick_s and config.population.deliberation_minutes):
        needed = "run.tick_s and population.deliberation_minutes above 0, or every answer would be too late"
        yield _clash("oracle.mode run.tick_s population.deliberation_minutes", f"realtime needs {needed}")
    if oracle.tape != "off" and oracle.backend == "choice":
        yield _clash("oracle.tape", f"{oracle.tape} needs a backend that asks a model: ollama or openai, got choice")
    if oracle.tape != "off" and oracle.mode == "realtime":
        problem = "a tape does not know which answers came too late for realtime: expected mode pace, got realtime"
        yield _clash("oracle.tape oracle.mode", problem)
    if oracle.tape == "replay" and oracle.tape_path is None:
        problem = "replay needs the tape's file in oracle.tape_path, got null"
        yield _clash("oracle.tape oracle.tape_path", problem)
    if oracle.sharing.archetype and by != "archetype":
        yield _clash(
            "oracle.sharing.archetype oracle.sharing.by",
            "the fields say which questions are an archetype, and none is used: expected "
            f"oracle.sharing.by=archetype, or oracle.sharing.archetype={{}}, got {by}",
        )
    if by != "none" and oracle.mode == "realtime":
        problem = "in realtime a late answer would decide who shares: expected sharing.by none or mode pace, got "
        yield _clash("oracle.sharing.by oracle.mode", f"{problem}{by} and realtime")
    if by != "none" and config.llm.writes:
        problem = f"a text that a model writes is one person's: expected sharing.by none, got {by}"
        yield _clash("oracle.sharing.by llm.writes", problem)


def _llm(config: Config) -> Iterator[SettingError]:
    llm, prices, domain = config.llm, config.llm.prices, config.simulation.domain
    if (prices.input is None) != (prices.output is None):
        got = " and ".join("null" if price is None else f"{price:g}" for price in (prices.input, prices.output))
        problem = f"expected both prices, input and output, or neither, got {got}"
        yield _clash("llm.prices.input llm.prices.output", problem)
    if config.oracle.max_usd is not None and prices.input is None:
        problem = "a cap in US dollars needs the model's prices in llm.prices.input and llm.prices.output, got null"
        yield _clash("oracle.max_usd llm.prices.input", problem)
    if domain == "economy" and llm.method == "probabilities":
        problem = "the policies of an economy are numbers, not options: expected auto or json, got probabilities"
        yield _clash("llm.method simulation.domain", problem)
    # Models for people with different values of an attribute.
    by, models = llm.by.attribute, llm.by.models
    yield from _both("llm.by", attribute=by is not None, models=bool(models))
    if by is None or not models:
        return
    if domain != "social":
        problem = f"only people on a feed have models of their own: expected the domain social, got {domain}"
        yield _clash("llm.by.attribute simulation.domain", problem)
    elif wrong := [*_not_declared(config, "llm.by.attribute", by, ("text",))]:
        yield from wrong
    elif known := config.population.attributes[by].values:
        for value in models:
            if value not in known:
                problem = f"{by} is never {value!r}: {guess(value, known)}"
                yield _clash((f"llm.by.models.{value}", f"{PLACE}.{by}"), problem)
    if config.oracle.sharing.by == "archetype":
        problem = "people of one archetype would share the judgements of different models: expected "
        yield _clash("llm.by.attribute oracle.sharing.by", f"{problem}oracle.sharing.by none, got archetype")


def _economy(config: Config) -> Iterator[SettingError]:
    oracle, economy, initial = config.oracle, config.economy, config.economy.initial
    if config.simulation.domain == "economy":  # a turn is complete in its tick and has no fallback
        if oracle.mode != "pace":
            problem = "an economy waits for every answer, since none can be made up: expected mode pace, got realtime"
            yield _clash("oracle.mode simulation.domain", problem)
        if not config.statechart.oracle_enabled:
            problem = "an economy has no policy without its oracle: expected oracle_enabled true, got false"
            yield _clash("statechart.oracle_enabled simulation.domain", problem)
        if oracle.when_spent == "fallback" and (oracle.max_calls is not None or oracle.max_tokens is not None):
            problem = "an economy has no fallback once the cap is reached: expected when_spent stop, got fallback"
            yield _clash("oracle.when_spent oracle.max_calls oracle.max_tokens simulation.domain", problem)
    nations, taylor = economy.nations, economy.taylor
    yield from _repeated("economy.nations", nations, "names")
    # Names stand in prompts and in log lines, where a line end would begin something new.
    strange = next((name for name in nations if not name.isprintable() or not name.strip()), None)
    if strange is not None:
        yield _clash("economy.nations", f"expected names on one line, got {strange!r}")
    if len(economy.strengths) != len(nations):
        problem = f"expected a strength for each nation, got {len(economy.strengths)} for {len(nations)} nations"
        yield _clash("economy.strengths economy.nations", problem)
    if taylor.rate_step > taylor.rate_step_max:
        problem = f"expected rate_step <= rate_step_max, got {taylor.rate_step:g} and {taylor.rate_step_max:g}"
        yield _clash("economy.taylor.rate_step economy.taylor.rate_step_max", problem)
    if initial.quarter is not None and initial.path is None:
        problem = f"the quarter {initial.quarter} needs a file in economy.initial.path, got null"
        yield _clash("economy.initial.quarter economy.initial.path", problem)
    quarters = [] if initial.quarter is None else [("economy.initial.quarter", Quarter.parse, initial.quarter)]
    for key, parse, text in (
        *quarters,
        *(("economy.backtest.periods", Period.parse, p) for p in economy.backtest.periods),
    ):
        try:
            parse(text)
        except ValueError as error:
            yield _clash(key, str(error))
    for name in INDICATORS if initial.path is not None else ():
        if (given := getattr(initial, name)) != getattr(InitialConfig(), name):
            problem = f"a file in path takes the place of {name}: expected one of the two, got {given:g}"
            yield _clash(f"economy.initial.{name} economy.initial.path", problem)


def _shards(config: Config) -> Iterator[SettingError]:
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
            yield _clash(f"{key} run.shards", f"with run.shards, {key} must be {expected}")


def _when(place: str, each: InterventionConfig, simulation: SimulationConfig) -> Iterator[SettingError]:
    """Yield the conflicts of an intervention with the length and the domain of the run."""
    tick, domain = each.at(simulation.ticks_per_round), simulation.domain
    if tick >= simulation.length:
        got = f"tick {tick:,}" if each.round is None else f"round {each.round:,}, which begins at tick {tick:,}"
        problem = f"expected an intervention before the end of the run, at tick {simulation.length:,}, got {got}"
        yield _clash(f"{place}.{each.when}", problem)
    if each.until_round is not None and (each.until_round - 1) * simulation.ticks_per_round <= tick:
        problem = f"expected a round that begins after tick {tick:,}, got round {each.until_round}"
        yield _clash(f"{place}.until_round", problem)
    if domain in SHIPPED_DOMAINS and each.kind not in KINDS_OF[domain]:
        problem = f"the {domain} domain has no {each.kind}: expected one of {', '.join(KINDS_OF[domain])}"
        yield _clash(f"{place}.{each.kind}", problem)
    for path in each.set or ():
        key = (join(f"{place}.set", path),)
        if domain in SHIPPED_DOMAINS and path not in CHANGEABLE[domain]:
            known = ", ".join(CHANGEABLE[domain])
            yield _clash(key, f"cannot change while a run goes on: expected one of {known}")
        elif domain not in SHIPPED_DOMAINS and not path.startswith(f"{DOMAIN}."):
            yield _clash(key, f"expected a setting of the run's own domain, such as {DOMAIN}.NAME")


def _agents(config: Config, interventions: Sequence[InterventionConfig]) -> Iterator[SettingError]:
    """Yield an error for each agent that is known not to exist before agents are made, and for authors of too much."""
    domain, population = config.simulation.domain, config.population
    is_known = domain == "social" and population.graph.path is None and population.profiles is None
    for place, agent in placed_agents(interventions):
        if is_known and isinstance(agent, int) and agent >= population.size:
            yield _clash(place, not_numbered(agent, population.size, "people"))
        if domain == "economy":
            try:
                numbered_nation(agent, config.economy.nations)
            except LookupError as error:
                yield _clash(place, str(error.args[0]))
    published = Counter[tuple[int, int | str]]()
    for index, each in enumerate(interventions):
        if each.publish is not None:
            posts = each.at(config.simulation.ticks_per_round), each.publish.author
            published[posts] += 1
            if published[posts] == PUBLISHED_AT_ONCE + 1:  # more posts would share random draws
                problem = f"expected at most {PUBLISHED_AT_ONCE} posts of an author in a tick"
                yield _clash(f"{INTERVENTIONS}[{index}].publish.author", f"{problem}: take other authors or ticks")
