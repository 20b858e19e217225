"""The configuration of a whole run, the list and schema of its settings, and checks of settings against each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, reduce
from itertools import islice
from typing import Any, Final, get_args

import msgspec
import yaml
from msgspec import inspect

from prism.checked import field_types
from prism.clock import SimulatedClock, whole_ticks
from prism.config.attributes import (
    GROUPS,
    MEASURES,
    PLACE,
    POSTS_PLACE,
    TRAITS,
    WEIGHTS,
    attribute_problem,
    measure_problem,
)
from prism.config.interventions import (
    CHANGEABLE,
    INDICATORS,
    KINDS_OF,
    PUBLISHED_AT_ONCE,
    InterventionConfig,
    numbered,
    numbered_nation,
    placed_agents,
)
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.config.model import (
    ColumnsConfig,
    EconomyConfig,
    FeedConfig,
    GraphConfig,
    InitialConfig,
    LLMConfig,
    MetricsConfig,
    OracleConfig,
    PopulationConfig,
    RunConfig,
    SimulationConfig,
    StatechartConfig,
)
from prism.config.section import DOMAIN, Section, is_section, meaning_of, plain_settings, sections_of, setting
from prism.config.yaml_text import flat
from prism.errors import SettingError, together
from prism.expectations import found, guess, join, meant, type_text


class Config(Section):
    """A whole run. `Config()` is the default; a section may be given as a mapping, and every value is checked.

    A file is read by `actors.read_config(path)`, and a text by `prism.load_config(text)`.

    Raises:
        SettingError: a value cannot be held, or settings cannot hold together.
    """

    simulation: SimulationConfig = SimulationConfig()
    population: PopulationConfig = PopulationConfig()
    feed: FeedConfig = FeedConfig()
    statechart: StatechartConfig = StatechartConfig()
    oracle: OracleConfig = OracleConfig()
    llm: LLMConfig = LLMConfig()
    economy: EconomyConfig = EconomyConfig()
    domain: dict[str, Any] = setting({}, "the settings of a domain of your own, as the domain declares them")
    interventions: tuple[InterventionConfig, ...] = setting(
        (), "what is done to the run while it goes on: docs/behaviour.md"
    )
    run: RunConfig = RunConfig()
    metrics: MetricsConfig = MetricsConfig()

    def __post_init__(self) -> None:
        if isinstance(self.domain, Section):
            msgspec.structs.force_setattr(self, DOMAIN, plain_settings(self.domain))
        super().__post_init__()
        if conflicts := find_conflicts(self):
            raise together(conflicts)

    @property
    def deliberates(self) -> bool:
        """False for an economy, which settles a quarter in its own tick."""
        return self.simulation.domain != "economy"

    @property
    def deliberation_ticks(self) -> int:
        """The ticks between a question and its effect: `population.deliberation_minutes`, rounded up.

        0 where nobody deliberates.
        """
        if not self.deliberates:
            return 0
        return whole_ticks(self.population.deliberation_minutes, self.simulation.tick_seconds)


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting: its dotted path, its type and range in words, and its default as YAML on one line."""

    path: str
    type: str
    default: str
    description: str


@cache
def settings() -> tuple[Setting, ...]:
    """Return every setting: a section's own settings first, then those of the sections inside it."""
    found = []
    for path, section in sections_of(Config).items():
        for field in msgspec.structs.fields(section):
            # Skipped: sections, and fields at the top: a list, and settings that only a user's own domain can describe.
            if not path or is_section(field.type):
                continue
            value = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
            plain = list(value) if isinstance(value, tuple) else value
            text = yaml.safe_dump(plain, default_flow_style=True, width=float("inf"), allow_unicode=True)
            default, about = text.removesuffix("...\n").strip(), meaning_of(field.type)
            kind = type_text(inspect.type_info(field.type))
            found.append(Setting(path=join(path, field.name), type=kind, default=default, description=about))
    return tuple(found)


def schema() -> dict[str, Any]:
    """Return the JSON schema of a configuration's file, with which an editor completes and checks it."""
    whole = msgspec.json.schema(Config)
    for definition in whole["$defs"].values():
        definition["description"] = definition["description"].partition("\n")[0]
        for name, kind in definition["properties"].items():
            if "$ref" in kind:  # an empty section keeps its defaults
                definition["properties"][name] = {"anyOf": [{"$ref": kind["$ref"]}, {"type": "null"}]}
    return {"$schema": "http://json-schema.org/draft-07/schema#", **whole}


UNCALIBRATED = "; its coefficients are uncalibrated"
"""The end of an oracle's description, which the label of a calibrated configuration replaces."""

# A conflict is its problem, in words that are right for any of its keys, and the keys: the one that was set last is to
# blame, or else the first one. An error of an intervention names the intervention, also if another setting was set
# last: otherwise it would not say which one is wrong.
Clash = tuple[str, ...]
"""The problem, and the dotted paths of the settings that contradict each other."""

SHIPPED_DOMAINS: Final = ("social", "economy")
"""The domains that come with PRISM. Their settings have sections of their own."""
HOUR_S: Final = 3600
SESSION_TICKS: Final = 4
"""The fewest ticks in which a person can come online, see a post, decide and act."""
POWER_LAW_SHARE: Final = 4
"""On average a person follows at most one in so many people. The generator takes very long to draw more ties."""
_DOMAIN, _PROFILES, _PEOPLE, _GRAPH = "simulation.domain", "population.profiles", "population", "population.graph"
_SIZE, _DEGREE, _KIND, _TIES = "population.size", f"{_GRAPH}.degree", f"{_GRAPH}.kind", f"{_GRAPH}.path"

_MODELS = " ".join(get_args(get_args(field_types(OracleConfig)["backend"])[0])[1:])  # all but the formula
SET, NONE, ONE_SHARD = "a value", "none", "known to one shard only"
NEEDS: Final = (
    ("population.margins", SET, _PROFILES, NONE, "people come from profiles or from margins"),
    ("population.join", "position draw", _PROFILES, SET, ""),
    (_KIND, "profiles", f"{_PROFILES} {_TIES}", SET, ""),
    *((f"population.columns.{name}", SET, _PROFILES, SET, "") for name in field_types(ColumnsConfig)),
    *((f"population.columns.{name}", SET, "population.columns.engagement_threshold", SET, "")
      for name in ("low_threshold", "high_threshold")),
    (f"{_GRAPH}.homophily.by", SET, f"{_GRAPH}.homophily.share", SET, ""),
    (f"{_GRAPH}.homophily.share", SET, f"{_GRAPH}.homophily.by", SET, ""),
    (f"{_GRAPH}.homophily.by", SET, _TIES, NONE, "it is for generated ties"),
    (_KIND, "profiles", f"{_GRAPH}.homophily.by", NONE, "it is for generated ties"),
    (MEASURES, SET, _DOMAIN, "social", "others have no follow ties"),
    ("population.relevance.exposure", SET, "feed.exposure", "complex", "which shows a cascade again"),
    ("oracle.choice.exposure", SET, "feed.exposure", "complex", "which shows a cascade again"),
    ("oracle.mode", "realtime", "run.tick_s", SET, "or every answer would be too late"),
    ("oracle.mode", "realtime", "population.deliberation_minutes", SET, "or every answer would be too late"),
    ("oracle.tape", "record replay", "oracle.backend", _MODELS, ""),
    ("oracle.tape", "record replay", "oracle.mode", "pace", "a tape does not know which answers came too late"),
    ("oracle.tape", "replay", "oracle.tape_path", SET, ""),
    ("oracle.max_usd", SET, "llm.prices.input", SET, ""),
    ("oracle.sharing.archetype", SET, "oracle.sharing.by", "archetype", ""),
    ("oracle.sharing.by", "archetype", "oracle.mode", "pace", "or a late answer would decide who shares"),
    ("oracle.sharing.by", "archetype", "llm.writes", NONE, "a text that a model writes is one person's"),
    ("llm.prices.input", SET, "llm.prices.output", SET, ""),
    ("llm.prices.output", SET, "llm.prices.input", SET, ""),
    ("llm.by.attribute", SET, "llm.by.models", SET, ""),
    ("llm.by.models", SET, "llm.by.attribute", SET, ""),
    ("llm.by.attribute", SET, _DOMAIN, "social", "only people on a feed have models of their own"),
    ("llm.by.attribute", SET, "oracle.sharing.by", "none", "or people would share judgements of different models"),
    (_DOMAIN, "economy", "oracle.mode", "pace", "no policy can be made up in place of an answer"),
    (_DOMAIN, "economy", "oracle.when_spent", "stop", "no policy can be made up in place of an answer"),
    (_DOMAIN, "economy", "statechart.oracle_enabled", SET, "there is no policy without an oracle"),
    (_DOMAIN, "economy", "llm.method", "auto json", "policies are numbers, not options"),
    ("economy.initial.quarter", SET, "economy.initial.path", SET, ""),
    *(("economy.initial.path", SET, f"economy.initial.{name}", str(getattr(InitialConfig(), name)), "the file has it")
      for name in INDICATORS),
    ("run.shards", SET, _DOMAIN, "social", ""),
    ("run.shards", SET, "feed.reshare_credit", "seen root", f"the newest post is {ONE_SHARD}"),
    ("run.shards", SET, "run.record_feeds", NONE, f"a feed is {ONE_SHARD}"),
    ("run.shards", SET, "llm.memory", NONE, f"what somebody remembers is {ONE_SHARD}"),
    ("run.shards", SET, "llm.writes", NONE, f"a text is {ONE_SHARD}"),
    ("run.shards", SET, "oracle.mode", "pace", ""),
    ("run.shards", SET, "oracle.sharing.by", "none", f"what judgements note is {ONE_SHARD}"),
)  # fmt: skip
"""`(setting, its values, the settings of which it then needs one, their values, why)`; one shard counts as no value."""


def find_conflicts(config: Config) -> list[SettingError]:
    """Return the errors of settings that contradict each other."""
    checks = (_needs, _domains, _people, _ties, _attributes, _models)
    found = [_error(clash) for check in checks for clash in check(config)]
    return [*found, *find_intervention_conflicts(config, config.interventions)]


def find_intervention_conflicts(config: Config, interventions: Sequence[InterventionConfig]) -> list[SettingError]:
    """Return the first conflict of each intervention with the domain or the length of the run.

    If there is no such conflict, return those with the agents of the run, which depend on the domain.
    """
    places = ((f"{INTERVENTIONS}[{index}]", each) for index, each in enumerate(interventions))
    firsts = [next(_when(place, each, config.simulation), None) for place, each in places]
    return [_error(each) for each in firsts if each is not None] or [*map(_error, _agents(config, interventions))]


def _error(clash: Clash) -> SettingError:
    return SettingError("Config", clash[0], keys=clash[1:])


def _needs(config: Config) -> Iterator[Clash]:
    """Yield settings of the table whose value needs another one of other settings."""

    def value(key: str) -> Any:
        return reduce(getattr, key.split("."), config)

    def is_one(key: str, values: str) -> bool:
        given = value(key)
        if values in (SET, NONE) and not isinstance(given, str):
            return (bool(given) and (key, given) != ("run.shards", 1)) == (values == SET)
        return values == SET or str(given) in values.split()

    for key, values, keys, needed, why in NEEDS:
        if is_one(key, values) and not any(is_one(other, needed) for other in keys.split()):
            *_, other = keys.split()
            expected = needed if needed == SET else needed.replace(" ", " or ")
            problem = f"{key}={_shown(value(key))} needs {keys.replace(' ', ' or ')}: expected {expected}"
            yield f"{problem}, got {_shown(value(other))}{why and f': {why}'}", key, *keys.split()


def _shown(value: object) -> str:
    return value if isinstance(value, str) else found(value)


def _domains(config: Config) -> Iterator[Clash]:
    simulation, domain = config.simulation, config.simulation.domain
    per_round, tick_s, length = simulation.ticks_per_round, simulation.tick_seconds, simulation.length
    if config.domain and domain in SHIPPED_DOMAINS:
        problem = f"the {domain} domain has no settings below the key domain, which is for domains of your own, got "
        first = next((path for path, _ in flat(config.domain, DOMAIN)), DOMAIN)
        yield problem + ", ".join(config.domain), first, _DOMAIN
    if domain == "social" and per_round < SESSION_TICKS:
        problem = f"expected ticks_per_round >= {SESSION_TICKS} in the social domain, where a session takes as many"
        yield f"{problem}, got {per_round}", "simulation.ticks_per_round", _DOMAIN
    if config.population.activity.hours is not None and (round_s := per_round * tick_s) > HOUR_S:
        problem = "activity by hours needs rounds of an hour at most: expected ticks_per_round * tick_seconds <= "
        keys = "population.activity.hours", "simulation.ticks_per_round", "simulation.tick_seconds"
        yield f"{problem}{HOUR_S}, got {per_round} * {tick_s:g} = {round_s:g} s", *keys
    try:
        SimulatedClock(simulation.epoch, tick_s).at(length)
        SimulatedClock(simulation.epoch, tick_s).at(0)
    except OverflowError:
        got = f"{length} ticks of {tick_s:g} s from {simulation.epoch.isoformat()}"
        names = ("epoch", "ticks", "rounds", "ticks_per_round", "tick_seconds")
        problem = f"expected all of the run between the years 1 and 9999, got {got}"
        yield problem, *(f"simulation.{name}" for name in names)
    economy, taylor, nations = config.economy, config.economy.taylor, config.economy.nations
    if len(economy.strengths) != len(nations):
        problem = f"expected a strength for each nation, got {len(economy.strengths)} for {len(nations)} nations"
        yield problem, "economy.strengths", "economy.nations"
    if taylor.rate_step > taylor.rate_step_max:
        problem = f"expected rate_step <= rate_step_max, got {taylor.rate_step:g} and {taylor.rate_step_max:g}"
        yield problem, "economy.taylor.rate_step", "economy.taylor.rate_step_max"


def _people(config: Config) -> Iterator[Clash]:
    people, profiles, ties = config.population, config.population.profiles, config.population.graph.path
    # Profiles bring interests of their own, so the topics of synthetic people go unused.
    if profiles is None and people.interests_per_person > len(people.topics):
        got = f"{people.interests_per_person} and {len(people.topics)}"
        problem = f"expected interests_per_person <= the number of topics, got {got}"
        yield problem, "population.interests_per_person", "population.topics"
    has_ids = people.join == "id" and profiles is not None and ties is not None
    if people.unmatched is not None and not (has_ids or people.posts.file):
        problem = f"{people.unmatched} is about people in one of two files: expected {_PROFILES} and {_TIES}, joined"
        yield f"{problem} by id, or posts of people", "population.unmatched", _PROFILES, _TIES
    # Columns and attributes that no file gives. The files themselves are read later, and so are margins.
    for name, declared in people.attributes.items():
        if declared.column is not None and profiles is None:
            yield f"a column needs a profile file in {_PROFILES}, got null", f"{PLACE}.{name}.column", _PROFILES
        elif not people.margins and profiles is None and not declared.is_complete:
            problem = "has no values: expected a profile file in population.profiles, or a way to draw them"
            yield f"{problem}: {declared.ways}", f"{PLACE}.{name}", _PROFILES
    for name, declared in people.posts.attributes.items():
        key, file = f"{POSTS_PLACE}.{name}", "population.posts.file"
        if people.posts.file is None:
            yield f"an attribute of posts needs a file of posts in {file}, got null", key, file
        elif declared.is_drawn:
            yield "attributes of posts are read and not drawn: expected no mean, sd, weights or probability", key


def _ties(config: Config) -> Iterator[Clash]:
    """Yield settings of a generator that do not fit each other or the number of people. A file has its own people."""
    graph, by = config.population.graph, config.population.graph.homophily.by
    is_read = graph.path is not None or graph.kind == "profiles"
    if config.simulation.domain == "social" and not is_read:
        yield from islice(_misfits(graph, config.population.size), 1)
    if by is not None and (problem := attribute_problem(by, config.population.attributes, GROUPS)):
        yield problem, f"{_GRAPH}.homophily.by", PLACE


def find_misfit(graph: GraphConfig, size: int) -> SettingError | None:
    """Return the reason why the generator can make no graph of `size` people; None if it can."""
    return next(map(_error, _misfits(graph, size)), None)


def _misfits(graph: GraphConfig, size: int) -> Iterator[Clash]:
    degree, kind, blocks = graph.degree_among(size), graph.kind, graph.blocks
    if degree >= size:
        yield f"expected graph.degree < the number of people, got {degree} and {size}", _DEGREE, _SIZE
    if kind == "watts_strogatz" and degree % 2:
        yield f"expected an even graph.degree for watts_strogatz, got {degree}", _DEGREE, _KIND
    if kind == "power_law" and degree * POWER_LAW_SHARE > size:
        problem = f"expected graph.degree <= a quarter of the people for power_law, got {degree} and {size}"
        yield problem, _DEGREE, _SIZE, _KIND
    if kind == "stochastic_block" and blocks > size:
        problem = f"expected graph.blocks <= the number of people, got {blocks} and {size}"
        yield problem, f"{_GRAPH}.blocks", _SIZE, _KIND
    ways = ("inside the communities", "raise mixing"), ("between communities", "lower mixing")
    for (wanted, pairs), (where, way) in zip(block_ties(graph, size), ways, strict=True):
        if kind == "stochastic_block" and wanted > pairs:
            problem = f"stochastic_block wants {wanted:.0f} ties {where}, where {pairs} fit: {way} or lower degree"
            yield problem, f"{_GRAPH}.mixing", _DEGREE, f"{_GRAPH}.blocks", _SIZE, _KIND


def block_ties(graph: GraphConfig, size: int) -> tuple[tuple[float, int], tuple[float, int]]:
    """Return the mean number of ties of a stochastic block graph and the pairs of people that can have one.

    First those inside its communities, then those between them. `size % blocks` communities have one person more than
    the others.
    """
    people, larger = divmod(size, graph.blocks)
    inside = larger * (people + 1) * people // 2 + (graph.blocks - larger) * people * (people - 1) // 2
    ties = size * graph.degree_among(size) / 2.0
    return (ties * (1.0 - graph.mixing), inside), (ties * graph.mixing, size * (size - 1) // 2 - inside)


def _attributes(config: Config) -> Iterator[Clash]:
    """Yield measures and weights of attributes that people do not have, or that are of another type."""
    declared, measures = config.population.attributes, config.population.measures
    for place, name in enumerate(measures):
        if problem := measure_problem(name, declared):
            yield problem, f"{MEASURES}[{place}]", PLACE
    for name, weight in config.oracle.choice.attributes.items():
        key, texts = f"{WEIGHTS}.{name}", declared[name].values if name in declared else ()
        if name not in declared:
            near = f"; did you mean oracle.choice.{name}?" if name in TRAITS else meant(name, declared)
            yield f"no such attribute{near}; {PLACE} has: {', '.join(declared) or 'none'}", key, PLACE
        elif declared[name].type != "text" and isinstance(weight, dict):
            yield f"expected one weight for type {declared[name].type}, got a mapping", key, f"{PLACE}.{name}"
        elif declared[name].type == "text" and not isinstance(weight, dict):
            problem = f"expected a weight for each text, as in {{north: 0.2}}, got {weight:g}"
            yield problem, key, f"{PLACE}.{name}"
        elif isinstance(weight, dict) and texts and (strange := [each for each in weight if each not in texts]):
            yield f"expected weights of {', '.join(texts)}, got {strange[0]!r}", key, f"{PLACE}.{name}"


def _models(config: Config) -> Iterator[Clash]:
    """Yield models for people with a value of an attribute that nobody can have."""
    by, models = config.llm.by.attribute, config.llm.by.models
    if by is None or config.simulation.domain != "social":
        return
    if problem := attribute_problem(by, config.population.attributes, ("text",)):
        yield problem, "llm.by.attribute", PLACE
        return
    known = config.population.attributes[by].values
    for value in models if known else ():
        if value not in known:
            yield f"{by} is never {value!r}: {guess(value, known)}", f"llm.by.models.{value}", f"{PLACE}.{by}"


def _when(place: str, each: InterventionConfig, simulation: SimulationConfig) -> Iterator[Clash]:
    """Yield the conflicts of an intervention with the length and the domain of the run."""
    tick, domain = each.at(simulation.ticks_per_round), simulation.domain
    if tick >= simulation.length:
        got = f"tick {tick:,}" if each.round is None else f"round {each.round:,}, which begins at tick {tick:,}"
        problem = f"expected an intervention before the end of the run, at tick {simulation.length:,}, got {got}"
        yield problem, f"{place}.{each.when}"
    if each.until_round is not None and (each.until_round - 1) * simulation.ticks_per_round <= tick:
        yield f"expected a round that begins after tick {tick:,}, got round {each.until_round}", f"{place}.until_round"
    if domain in SHIPPED_DOMAINS and each.kind not in KINDS_OF[domain]:
        known = ", ".join(KINDS_OF[domain])
        yield f"the {domain} domain has no {each.kind}: expected one of {known}", f"{place}.{each.kind}"
    for path in each.set or ():
        key = join(f"{place}.set", path)
        if domain in SHIPPED_DOMAINS and path not in CHANGEABLE[domain]:
            yield f"cannot change while a run goes on: expected one of {', '.join(CHANGEABLE[domain])}", key
        elif domain not in SHIPPED_DOMAINS and not path.startswith(f"{DOMAIN}."):
            yield f"expected a setting of the run's own domain, such as {DOMAIN}.NAME", key


def _agents(config: Config, interventions: Sequence[InterventionConfig]) -> Iterator[Clash]:
    """Yield an error for each agent that is known not to exist before agents are made, and for authors of too much."""
    domain, people = config.simulation.domain, config.population
    is_known = domain == "social" and people.graph.path is None and people.profiles is None
    for place, agent in placed_agents(interventions):
        try:
            if is_known and isinstance(agent, int):
                numbered(agent, people.size, "people")
            elif domain == "economy":
                numbered_nation(agent, config.economy.nations)
        except LookupError as error:
            yield str(error.args[0]), place
    published = Counter[tuple[int, int | str]]()
    for index, each in enumerate(interventions):
        if each.publish is not None:
            published[posts := (each.at(config.simulation.ticks_per_round), each.publish.author)] += 1
            if published[posts] == PUBLISHED_AT_ONCE + 1:  # more posts would share random draws
                problem = f"expected at most {PUBLISHED_AT_ONCE} posts of an author in a tick: take other authors or"
                yield f"{problem} ticks", f"{INTERVENTIONS}[{index}].publish.author"
