"""A file that is given in the place of another kind: the error says what it is, and what takes it."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from actors.factory.config_file import read_config
from actors.factory.domains import build_domain
from actors.studies.calibration.calibration_plan import make_calibration_plan
from actors.studies.experiments.plan import make_plan
from prism.config import load_config
from prism.errors import ConfigError

RUN = "simulation: {ticks: 5}\npopulation: {size: 20}\n"
EXPERIMENT = (
    "question: does it?\nbase: run.yaml\ndesign:\n  conditions: {a: {feed.size: 3}, b: {feed.size: 5}}\n"
    "seeds: 2\nmeasures: {m: posts}\n"
)
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
CONFIGURATION = "is the configuration of a run: `prism run` takes it, and the key `base` of an experiment"
AN_EXPERIMENT = "is an experiment: `prism experiment` takes it"
PEOPLE = "it looks like a list of people: population.profiles takes it"
TIES = "it looks like a table of ties: population.graph.path takes it"
FILES: dict[str, str | bytes] = {
    "run.yaml": RUN,
    "exp.yaml": EXPERIMENT,
    "cal.yaml": "question: what?\nbase: run.yaml\nparameters: {}\n",
    "ask.yaml": "questions: []\n",
    "chart.yaml": "initial: a\nstates: {a: {}}\n",
    "people.csv": "user_id,name,party\nada,Ada,left\nbo,Bo,right\ncy,Cy,left\n",
    "people.json": '{"data": [{"username": "ada", "persona": "bakes"}]}',
    "ties.csv": "source,target\nada,bo\n",
    "ties.txt": "# by hand\n1 2\n2 3\n3 1\n",
    "posts.csv": "text,topics\nTaxes rise,taxes\n",
    "shares.csv": "region,share\nnorth,0.4\nsouth,0.6\n",
    "hours.csv": "id," + ",".join(f"h{hour:02}" for hour in range(24)) + "\n",
    "macro.csv": "date,GDPC1,CPIAUCSL,TB3MS,UNRATE\n1990-01-01,9364.3,127.5,7.76,5.4\n",
    "design.csv": "name;feed.size\na;3\n",
    "g.graphml": "<graphml></graphml>",
    "photo.png": PNG,
    "photo.yaml": PNG,
    "photo.csv": PNG,
}
CASES: tuple[tuple[str, str, str], ...] = (
    ("run", "exp.yaml", AN_EXPERIMENT),
    ("run", "cal.yaml", "is a calibration: `prism calibrate` takes it"),
    ("run", "ask.yaml", "is a questionnaire: `prism ask` takes it"),
    ("run", "chart.yaml", "is a chart: statechart.file takes it"),
    ("run", "people.csv", PEOPLE),
    ("run", "people.json", PEOPLE),
    ("run", "design.csv", "it looks like a table of conditions: the key `design.file` of an experiment takes it"),
    ("run", "g.graphml", "is a graph (graphml): population.graph.path takes it"),
    ("run", "photo.yaml", "is a PNG picture: expected text"),
    ("experiment", "run.yaml", CONFIGURATION),
    ("experiment", "people.csv", PEOPLE),
    ("experiment", "photo.yaml", "is a PNG picture: expected text"),
    ("calibration", "exp.yaml", AN_EXPERIMENT),
    ("population.graph.path", "people.csv", PEOPLE),
    ("population.graph.path", "people.csv.gz", PEOPLE),
    ("population.graph.path", "people.json", PEOPLE),
    ("population.graph.path", "run.yaml", CONFIGURATION),
    ("population.graph.path", "exp.yaml", AN_EXPERIMENT),
    ("population.graph.path", "photo.png", "is a PNG picture: expected a table of ties, GraphML"),
    ("population.profiles", "ties.csv", TIES),
    ("population.profiles", "ties.txt", TIES),
    ("population.profiles", "shares.csv", "it looks like a table of shares: population.margins takes it"),
    ("population.profiles", "posts.csv", "it looks like a file of posts: population.posts.file takes it"),
    ("population.profiles", "run.yaml", CONFIGURATION),
    ("population.profiles", "photo.png", "is a PNG picture: expected text"),
    ("population.profiles", "photo.csv", "is a PNG picture: expected text"),
    ("population.posts.file", "people.csv", PEOPLE),
    ("population.activity.hours", "macro.csv", "it looks like a table of quarterly figures: economy.initial.path"),
    ("population.margins", "people.csv", PEOPLE),
    ("statechart.file", "run.yaml", CONFIGURATION),
    ("economy.initial.path", "hours.csv", "it looks like a table of counts by hour: population.activity.hours"),
)


def test_a_file_of_another_kind_is_named_with_what_takes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    Path("people.csv.gz").write_bytes(gzip.compress(Path("people.csv").read_bytes()))
    readers: dict[str, Callable[[Path], object]] = {
        "run": read_config,
        "experiment": make_plan,
        "calibration": make_calibration_plan,
    }
    for place, name, told in CASES:
        if place in readers:
            with pytest.raises(ConfigError) as caught:
                readers[place](Path(name))
            assert told in str(caught.value), (place, name)
            assert str(caught.value).startswith(name)
            continue
        value = f"[{name}]" if place == "population.margins" else name
        domain = "economy" if place.startswith("economy") else "social"
        config = load_config(None, overrides=[f"{place}={value}", f"simulation.domain={domain}"])
        with pytest.raises(ConfigError) as caught:
            build_domain(config)
        assert told in str(caught.value), (place, name)
        assert str(caught.value).startswith(name)


def test_a_wrong_file_of_the_right_kind_keeps_its_own_error(tmp_path: Path) -> None:
    experiment = tmp_path / "exp.yaml"
    experiment.write_text(EXPERIMENT.replace("seeds: 2", "seeds: none"))
    with pytest.raises(ConfigError, match=r"exp\.yaml:5: seeds: expected"):
        make_plan(experiment)
    run = tmp_path / "run.yaml"
    run.write_text(RUN + "feed: {sise: 3}\n")
    with pytest.raises(ConfigError, match=r"run\.yaml:3: feed\.sise: unknown key; did you mean feed\.size\?"):
        read_config(run)
