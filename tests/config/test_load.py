import math
import pickle
from pathlib import Path
from typing import Annotated, Any
from unittest.mock import patch

import msgspec
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Meta

from actors.cli.command import EXIT_CONFIG
from prism.config import (
    BacktestConfig,
    ChoiceConfig,
    Config,
    EconomyConfig,
    OracleConfig,
    PopulationConfig,
    RequestConfig,
    Section,
    Setting,
    SimulationConfig,
    load_config,
    settings,
    yaml_text,
)
from prism.config.load import load_placed_config
from prism.config.yaml_text import DEPTH_MAX, LENGTH_MAX, read_document
from prism.errors import ConfigError, SettingError
from tests.catalogue import catalogue
from tests.command import Prism
from tests.config.refusals import refusal

NAMES = st.text(st.characters(categories=["Ll", "Nd"], include_characters="_"), min_size=1, max_size=12)


def error_lines(text: str | None, *overrides: str) -> list[str]:
    """The lines of the error message; none where there is no error."""
    try:
        load_config(text, "c.yaml", environment={}, overrides=overrides)
    except ConfigError as error:
        return str(error).splitlines()
    return []


def test_the_environment_overrides_the_file_and_set_overrides_both() -> None:
    text = (
        "simulation: {seed: 1, rounds: 1, ticks_per_round: 5}\npopulation: {topics: [a, b, c, d]}\nfeed: {size: none}"
    )
    environment = {"PRISM_SIMULATION__ROUNDS": "2", "PRISM_SIMULATION__TICKS_PER_ROUND": "6"}
    overrides = ["simulation.ticks_per_round=7", "population.topics=[x, y, z]", "feed.size=3"]
    config = load_config(text, "c.yaml", environment=environment, overrides=overrides)
    assert (config.simulation.seed, config.simulation.rounds, config.simulation.ticks_per_round) == (1, 2, 7)
    assert config.population.topics == ("x", "y", "z")  # a list is replaced as a whole
    assert config.feed.size == 3  # and a bad value that is replaced is not judged


@catalogue(
    ("name", "meant"),
    [
        *((name, "") for name in ("PRISM_HOME", "PRISM_", "PRISM", "PATH", "PRISMA__SIZE", "prism_feed__size")),
        ("PRISM_SIMULATION_SEED", "PRISM_SIMULATION__SEED"),
        ("PRISM_ORACLE_RATE_PER_S", "PRISM_ORACLE__RATE_PER_S"),
    ],
)
def test_a_variable_that_names_no_setting_is_left_alone_unless_it_lacks_underscores(name: str, meant: str) -> None:
    told = f"{name}: is no setting; did you mean {meant}, with two underscores for each dot?"
    if meant:
        assert refusal(None, {name: "3"}) == told
    else:
        assert load_config(None, "c.yaml", environment={name: "3"}, overrides=()) == Config()


@given(parts=st.lists(NAMES, min_size=1, max_size=4))
@example(parts=["domain", "0", "0"])
def test_a_path_that_is_not_in_the_model_is_refused_by_name(parts: list[str]) -> None:
    path = ".".join(parts)
    if path not in {setting.path for setting in settings()}:
        with pytest.raises(ConfigError) as caught:
            load_config(overrides=[f"{path}=1"])
        assert path in str(caught.value)


@given(text=st.text(max_size=40))
@example(text="a: 1\nb: 2")
def test_any_text_is_a_configuration_or_lines_of_errors_that_name_the_file(text: str) -> None:
    for line in error_lines(text):
        assert line.startswith("c.yaml:")


@given(value=st.text(max_size=30), setting=st.sampled_from(settings()))
@example(value="0\r0", setting=next(each for each in settings() if each.path.endswith("columns.engagement_threshold")))
def test_any_value_of_a_setting_is_taken_or_refused_by_name(value: str, setting: Setting) -> None:
    for line in error_lines(None, f"{setting.path}={value}"):
        assert line.startswith(f"--set: {setting.path}")


def test_a_text_of_its_own_is_taken_as_it_is() -> None:
    for text, value in {
        "my edges #1.csv": "my edges #1.csv",
        "0042": "0042",
        "a: b.csv": "a: b.csv",
        "[x].csv": "[x].csv",
        "*x.csv": "*x.csv",
        "2020-01-01": "2020-01-01",
        " padded ": "padded",
        "'q #1.csv'": "q #1.csv",
        '"a\\tb"': "a\tb",
        "|\n  one\n  two": "one\ntwo",
        "null": None,
        "": None,
    }.items():
        assert load_config(None, overrides=[f"population.graph.path={text}"]).population.graph.path == value, text
        by_variable = load_config(None, environment={"PRISM_POPULATION__GRAPH__PATH": text})
        assert by_variable.population.graph.path == value, text
    ranking = "0.6 * post.likes # 1"
    assert load_config(None, overrides=[f"feed.algorithm={ranking}"]).feed.algorithm == ranking
    attribute = "population.attributes.camp={type: text, default: x}"
    found = load_config(None, overrides=[attribute, "population.attributes.camp.default=left #1"])
    assert found.population.attributes["camp"].default == "left #1"
    assert load_config(None, overrides=["feed.size=3 # three"]).feed.size == 3


SEVERAL_VALUES = """\
population:
  sise: 3
  ambiguity: 2
oracle: {rate_per_s: 0}
feed: 4
"""
CONTRADICTIONS = """\
feed: {exposure: simple}
population:
  relevance: {exposure: 1}
  interests_per_person: 50
  topics: [art]
oracle:
  tape: replay
"""


def test_all_unknown_keys_and_wrong_values_are_told_at_once() -> None:
    told = refusal(SEVERAL_VALUES, {"PRISM_SIMULATION__SEED": "x"}, "feed.sise=4", "nothing").split("\n")
    assert told == [
        "c.yaml:2: population.sise: unknown key; did you mean population.size?",
        "c.yaml:5: feed: expected {algorithm, size, out_of_network, fill, ...}, got 4",
        "--set: feed.sise: unknown key; did you mean feed.size?",
        "--set: expected key=value, got 'nothing'",
        "c.yaml:3: population.ambiguity: expected float 0 to 1, got 2",
        "c.yaml:4: oracle.rate_per_s: expected float 0.001 to 100000 or none, got 0",
        "PRISM_SIMULATION__SEED: simulation.seed: expected int 0 to 9223372036854775807, got 'x'",
    ]


def test_all_contradictions_are_told_at_once_each_with_the_setting_that_was_set_last() -> None:
    assert refusal(CONTRADICTIONS, None, "population.interests_per_person=40").split("\n") == [
        (
            "c.yaml:3: population.relevance.exposure: population.relevance.exposure=1.0 needs feed.exposure: expected "
            "complex, got simple: which shows a cascade again"
        ),
        "c.yaml:7: oracle.tape: oracle.tape=replay needs oracle.backend: expected ollama or openai, got choice",
        "c.yaml:7: oracle.tape: oracle.tape=replay needs oracle.tape_path: expected a value, got null",
        "--set: population.interests_per_person: expected interests_per_person <= the number of topics, got 40 and 1",
    ]


def test_the_fields_of_an_error_are_those_of_the_first_mistake_and_it_survives_pickling() -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(CONTRADICTIONS, "c.yaml")
    error = caught.value
    assert (error.key, error.line, len(error.others)) == ("population.relevance.exposure", 3, 3)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    with pytest.raises(SettingError) as constructed:
        Config(oracle={"tape": "replay"})  # type: ignore[arg-type]
    assert str(constructed.value).count("\n") == 1


GRAPH = (
    "kind, path, directed, columns, separator, header, degree, exponent, following_exponent, blocks, mixing, "
    "rewiring, homophily"
)
SIZE = "expected int 1 to 10000000"

REFUSED: list[tuple[type[Section], dict[str, Any], str]] = [
    (PopulationConfig, {"size": True}, f"population.size: {SIZE}, got true"),
    (ChoiceConfig, {"like": math.nan}, "oracle.choice.like: expected float -100 to 100, got .nan"),
    (EconomyConfig, {"strengths": (1, "a")}, "economy.strengths[1]: expected float 0.001 to 1e+12, got 'a'"),
    (BacktestConfig, {"periods": {"a"}}, "economy.backtest.periods: expected list of non-empty text, got {'a'}"),
    (PopulationConfig, {"graph": 3}, "population.graph: expected {kind, path, directed, columns, ...}, got 3"),
    (SimulationConfig, {"tics": 3}, "simulation.tics: unknown key; did you mean simulation.ticks?"),
    (Config, {"populaton": {}}, "populaton: unknown key; did you mean population?"),
    (Config, {"population": {"sizes": 3}}, "population.sizes: unknown key; did you mean size?"),
    (Config, {"population": {"graph": {"degree": 0}}}, "population.graph.degree: expected int >= 1 or none, got 0"),
    (Config, {"population": {"graph": {3: 0}}}, f"population.graph.3: unknown key; expected one of {GRAPH}"),
    (
        Config,
        {"oracle": OracleConfig(tape="record")},
        "oracle.tape: oracle.tape=record needs oracle.backend: expected ollama or openai, got choice",
    ),
]


@catalogue(("section", "settings", "message"), REFUSED)
def test_a_setting_is_refused_by_its_path(section: type[Section], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as caught:
        section(**settings)
    assert str(caught.value).partition(": ")[2] == message
    assert isinstance(caught.value, ConfigError | ValueError)


def test_a_changed_configuration_is_checked_as_a_whole() -> None:
    config = Config()
    changed = msgspec.structs.replace(config, population={"size": np.int64(17), "graph": {"path": Path("friends.txt")}})
    assert load_config(msgspec.yaml.encode(changed).decode()) == changed
    with pytest.raises(SettingError, match=r"population\.size: expected int"):
        msgspec.structs.replace(config, population={"size": 0})
    with pytest.raises(SettingError, match=r"^Config: oracle\.tape: oracle\.tape=record needs"):
        msgspec.structs.replace(config, oracle=OracleConfig(tape="record"))


def test_a_configuration_goes_through_json_and_pickle_unchanged_and_is_checked_at_decoding() -> None:
    config = Config(simulation=SimulationConfig(seed=7))
    assert msgspec.json.decode(msgspec.json.encode(config), type=Config) == config
    assert pickle.loads(pickle.dumps(config)) == config
    with pytest.raises(msgspec.ValidationError, match="record needs oracle"):
        msgspec.json.decode(b'{"oracle": {"tape": "record"}}', type=Config)


def test_the_name_of_a_file_is_no_text_and_says_who_reads_files() -> None:
    with pytest.raises(ConfigError, match=r"got a file's name; actors\.read_config\('a/b\.yml'\) reads it$"):
        load_config("a/b.yml")
    assert load_config() == load_config("") == Config()


OWN = "simulation: {domain: 'study:build'}\n"


class Timing(Section):
    red: Annotated[int, "seconds", Meta(ge=1)] = 3


class Lights(Section):
    lights: Annotated[int, Meta(ge=1)] = 4
    names: tuple[str, ...] = ("a",)
    timing: Timing = Timing()


def test_settings_of_unknown_type_are_taken_as_they_are_and_changed_one_by_one() -> None:
    text = f"{OWN}domain:\n  lights: 3\n  timing: {{red: 2, amber: 1}}\n"
    config = load_config(text, overrides=["domain.timing.red=5", "domain.more=[1]"])
    assert config.domain == {"lights": 3, "timing": {"red": 5, "amber": 1}, "more": [1]}
    assert load_config(f"{OWN}domain:\n").domain == {}
    assert load_config(OWN, environment={"PRISM_DOMAIN__LIGHTS": "3"}).domain == {"lights": 3}


@catalogue(
    ("text", "overrides", "line"),
    [
        ("domain:\n  ligths: 3\n", (), "c.yaml:3: domain.ligths: unknown key; did you mean lights?"),
        ("domain:\n  lights: 0\n", (), "c.yaml:3: domain.lights: expected int >= 1, got 0"),
        ("domain:\n  names: [a, 3]\n", (), "c.yaml:3: domain.names[1]: expected text, got 3"),
        ("domain:\n  timing:\n    red: no\n", (), "c.yaml:4: domain.timing.red: expected int >= 1, got 'no'"),
        ("", ("domain.timing.rde=3",), "--set: domain.timing.rde: unknown key; did you mean red?"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, overrides: tuple[str, ...], line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_placed_config(OWN + text, "c.yaml", environment={}, overrides=overrides, own=Lights)
    assert str(caught.value) == line


def test_what_cannot_be_settings_of_a_domain_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^--set: domain: expected mapping of text to any value, got 3$"):
        load_config(OWN, overrides=["domain=3"])
    with pytest.raises(ConfigError, match=r"^c\.yaml:2: domain\.lights: the social domain has no settings below the"):
        load_config("domain:\n  lights: 3\n", "c.yaml")


def test_a_record_of_the_domain_s_own_is_taken_as_plain_values() -> None:
    config = Config(simulation={"domain": "study:build"}, domain=Lights(lights=9))  # type: ignore[arg-type]
    assert config.domain == {"lights": 9, "names": ("a",), "timing": {"red": 3}}


SECRET = "9f2c4e8a7b1d6035"
"""A key without a form: only the place says that it is one."""
KEY = f"sk-proj-{SECRET}"
"""A key by its first letters, wherever it stands."""
VARIABLE = "expected an environment variable such as $API_KEY, because a run keeps its"

REQUESTS: tuple[tuple[str, str], ...] = (
    (
        "request.path=/a?b=c",
        "expected a path such as /v1/chat/completions, got '/a?b=c'; parameters belong in llm.request.query",
    ),
    ("request.headers={a b: c}", ".a b: expected the name of a header, such as api-key"),
    ("request.headers={Host: c}", ".Host: is set by PRISM itself; leave it out"),
    ('request.headers={a: "b\\nc"}', ".a: expected printable ASCII characters, at"),
    (f"request.headers={{api-key: {SECRET}}}", f".api-key: {VARIABLE}"),
    ("request.query={v: 2024-10-21}", ".v: expected text, got 2024-10-21"),
    ("request.extra_body={model: b}", ".model: is set by PRISM itself; leave it out"),
    ("request.extra_body={a: 2024-01-01}", ".a: expected a value that JSON has, got "),
    (f"host=http://127.0.0.1:1/v1?api_key={SECRET}", "expected an address without parameters"),
    (f"host=http://ada:{SECRET}@127.0.0.1:1", "must not carry a user or password"),
    (f"model={KEY}", "expected no key"),
    (f"api_key_env={KEY}", "expected the name of an environment variable"),
    (f"request.path=/v1/{KEY}/chat", "expected no key"),
    (f"request.headers={{X-Title: {KEY}}}", f".X-Title: {VARIABLE}"),
    (f"request.headers='Authorization: Bearer {KEY}'", "expected mapping of text to text"),
    (f"request.extra_body={{api_key: {SECRET}}}", ".api_key: expected no secret"),
    (f"request.extra_body={{user: {KEY}}}", ".user: expected no secret"),
    (
        f"request.extra_body={{providers: [{{a: 1}}, {{accessToken: {SECRET}}}]}}",
        ".providers[1].accessToken: expected no secret",
    ),
)


@catalogue(("setting", "line"), REQUESTS)
def test_what_no_request_can_carry_is_one_line_by_its_key_and_shows_no_secret(setting: str, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(None, overrides=[f"llm.{setting}"])
    place = f"--set: llm.{setting.partition('=')[0]}"
    assert str(caught.value).startswith(place + (line if line.startswith(".") else f": {line}"))
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_run_with_a_key_in_its_configuration_leaves_no_file(prism: Prism, tmp_path: Path) -> None:
    written = tmp_path / "study.yaml"
    text = f"oracle:\n  backend: openai\nllm:\n  request:\n    extra_body:\n      auth:\n        api_key: {SECRET}\n"
    written.write_text(text)
    ended = prism("run", str(written), "--out", str(tmp_path / "run"))
    assert ended.code == EXIT_CONFIG
    assert f"{written}:7: llm.request.extra_body.auth.api_key: expected no secret" in ended.err
    assert SECRET not in ended.out + ended.err
    assert [*tmp_path.iterdir()] == [written]


@catalogue(
    "fields",
    [
        {"max_tokens": 5, "stop_token": "</s>", "prompt_cache_key": "study-7", "skip_special_tokens": True},
        {"eos_token": "<end>", "thinking_tokens": "auto", "keyboard": "qwerty", "author": "us"},
        {"tools": [{"name": "look", "parameters": {"properties": {"token": {"type": "string"}}}}], "api_key": None},
        {"metadata": {"name": "disk-usage-of-task-force", "value": "sk-8"}, "models": ["risk-averse-model-2024"]},
    ],
)
def test_ordinary_fields_of_a_question_are_taken(fields: dict[str, Any]) -> None:
    assert RequestConfig(extra_body=fields).extra_body == fields


TOO_DEEP = f"is nested more than {DEPTH_MAX} levels deep; no setting needs more than 4"
FRAGMENTS = st.sampled_from([*"[]{}a,#\"'\n", "- ", "? ", ": ", "a: ", "  ", " # [", "|\n  [[", ">\n", "&a ", "*a"])


def outcome(text: str) -> object:
    """What a text means, or what is wrong with it."""
    try:
        return read_document(text, "c.yaml").value
    except ConfigError as error:
        return str(error)


def outcome_without_limit(text: str) -> object:
    with patch.object(yaml_text, "DEPTH_MAX", 10**9):
        return outcome(text)


def depth_of(value: object) -> int:
    inner = list(value.values()) if isinstance(value, dict) else value
    return 1 + max(map(depth_of, inner), default=0) if isinstance(inner, list) else 0


def is_too_deep(found: object) -> bool:
    return isinstance(found, str) and found.endswith(TOO_DEEP)


@given(fragments=st.lists(FRAGMENTS, max_size=60))
def test_any_text_means_the_same_with_the_limit_or_is_deeper_than_it(fragments: list[str]) -> None:
    text = "".join(fragments)
    found, unlimited = outcome(text), outcome_without_limit(text)
    if is_too_deep(found):
        assert isinstance(unlimited, str) or depth_of(unlimited) > DEPTH_MAX
    else:
        assert found == unlimited


@catalogue(("unit", "end"), [("[", "]"), ("{a: ", "}"), ("- ", ""), ("? ", ""), ("[a: ", "]")])
def test_a_deep_text_is_refused_with_its_line_whatever_it_is_nested_by(unit: str, end: str) -> None:
    assert outcome(f"\n{unit * 100}x{end * 100}") == f"c.yaml:2: {TOO_DEEP}"
    assert not is_too_deep(outcome(f"{unit * 15}x{end * 15}"))
    assert refusal(None, {"PRISM_FEED__SIZE": unit * 400}) == f"PRISM_FEED__SIZE: feed.size: {TOO_DEEP}"


def test_a_text_that_is_too_long_is_refused_by_name() -> None:
    told = "is longer than the 65,536 characters that a configuration may have"
    assert outcome("#" * LENGTH_MAX) == {}
    assert outcome("#" * (LENGTH_MAX + 1)) == f"c.yaml: {told}"
    assert refusal(None, None, f"population.topics={'x' * (LENGTH_MAX + 1)}") == f"--set: population.topics: {told}"
    text = "#" * (2 * LENGTH_MAX)  # a resolved configuration may be longer
    assert load_config(text, "config.yaml", length_max=len(text)) == load_config()


TEXT = """\
set:
  feed.size: 3
  feed: {memory: 4}
design:
  conditions:
    a.b: {feed.size: 3}
hypotheses:
  - {measure: likes}
  - measure: posts
    contrast: [a, b]
"""


@catalogue(
    ("key", "line"),
    [
        ("set.feed.size", 2),
        ("set.feed.algorithm", 3),
        ("design.conditions.a.b.feed.size", 6),
        ("design.factors", 4),
        ("hypotheses[0].measure", 8),
        ("hypotheses[1].contrast", 10),
        ("hypotheses[1].test", 9),
        ("hypotheses[7].test", 7),
        ("hypotheses[1].contrast[1]", 10),
        ("thresholds", None),
    ],
)
def test_keys_may_have_dots_and_lists_have_items(key: str, line: int | None) -> None:
    assert read_document(TEXT, "e.yaml").refused("is wrong", key).line == line
