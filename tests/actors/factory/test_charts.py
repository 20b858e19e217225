"""Charts from files: where they are found, the Python functions that they name, and what is refused."""

import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from actors.factory.config_file import read_config
from actors.factory.domains import build_domain, load_chart
from prism.config import Config, load_config
from prism.errors import ConfigError

CHART = """\
initial: away
states:
  away:
    role: offline
    transitions: [{trigger: feed_ready, target: reading, do: "MODULE:note"}]
  reading:
    role: browse
    transitions:
      - {trigger: sees_post, target: reading, when: "MODULE:is_keen"}
      - {trigger: sees_post, target: away}
      - {trigger: round_ends, target: away}
"""
CODE = """
NUMBER = 3


def is_keen(agent, view):
    return view.appeal > 0.5


def note(agent, view):
    pass


def forgetful(agent):
    return True


async def later(agent, view):
    return True
"""
_numbers = count()


@pytest.fixture
def module(tmp_path: Path) -> Iterator[str]:
    """The name of a module that no other test has imported, beside the chart."""
    name = f"study_{next(_numbers)}"
    (tmp_path / f"{name}.py").write_text(CODE)
    path = list(sys.path)
    yield name
    sys.path[:] = path
    sys.modules.pop(name, None)


def configured(directory: Path, chart: str) -> Config:
    (directory / "chart.yaml").write_text(chart)
    (directory / "study.yaml").write_text("statechart: {file: chart.yaml}\npopulation: {size: 30}\n")
    return read_config(directory / "study.yaml", environment={})


def test_a_chart_beside_the_configuration_is_found_and_hashed(tmp_path: Path, module: str) -> None:
    config = configured(tmp_path, CHART.replace("MODULE", module))
    built = build_domain(config)
    assert list(built.inputs) == [str(tmp_path / "chart.yaml")]
    assert len(built.inputs[str(tmp_path / "chart.yaml")]) == 64
    assert [state.value for state in type(built.domain.chart.initial)] == ["away", "reading"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("MODULE:is_keen", "no_such_module_here:is_keen", "when: no_such_module_here:is_keen: no module"),
        ("MODULE:is_keen", "MODULE:is_kene", "has no 'is_kene'; did you mean is_keen?"),
        ("MODULE:is_keen", "MODULE:later", "expected a function (agent, context) that is not async"),
        ("MODULE:is_keen", "MODULE:forgetful", "forgetful: expected a function of two arguments, (agent, context)"),
        ("MODULE:note", "MODULE:NUMBER", "expected a function (agent, context) that is not async"),
        ("MODULE:is_keen", "post.appeal > agent.zeal", "agent.zeal"),
    ],
)
def test_a_name_that_leads_to_no_function_is_one_line_with_its_place(
    old: str, new: str, message: str, tmp_path: Path, module: str
) -> None:
    config = configured(tmp_path, CHART.replace(old, new).replace("MODULE", module))
    with pytest.raises(ConfigError) as refused:
        load_chart(config)
    assert str(refused.value).startswith(f"{tmp_path / 'chart.yaml'}:")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_constants_are_for_states_of_the_chart() -> None:
    config = load_config(overrides={"oracle.choice.states": {"scroling": 0.5}})
    with pytest.raises(ConfigError, match=r"scroling: the chart has no such state; did you mean scrolling"):
        build_domain(config)
