import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prism.config import Config, Setting, load_config, settings
from prism.errors import ConfigError, SettingError
from tests.catalogue import catalogue
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
