"""What is sent to Loki: labels from closed sets, and fields that the log of a run has."""

import json
import re
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from actors import run
from actors.core.events import EVENTS
from prism import load_config
from tests.deploy.tools import DEPLOY, read_yaml

LABELS = {"run_id", "event", "level"}


def shipped() -> dict[str, Any]:
    return dict(read_yaml(DEPLOY / "logs" / "vector.yaml"))


def test_every_event_has_a_name_that_may_be_a_label_and_a_librarys_sentence_has_none() -> None:
    (name,) = re.findall(r"match\(name, r'(.+)'\)", shipped()["transforms"]["events"]["source"])
    assert all(re.search(name, event.name()) for event in EVENTS)
    assert not re.search(name, "Task was destroyed but it is pending!")


def test_every_line_of_a_runs_log_has_the_labels_and_a_time(tmp_path: Path) -> None:
    config = load_config("simulation: {ticks: 3}\npopulation: {size: 20}\n", "made up", environment={}, overrides=())
    run(config, out=tmp_path / "study")
    (include,) = shipped()["sources"]["runs"]["include"]
    (log,) = [
        path
        for path in tmp_path.glob("*/*")
        if fnmatch(str(path), include.replace("${PRISM_RUNS:-/runs}", str(tmp_path)))
    ]
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert [line["event"] for line in lines if line["actor"] == "run"][-1] == "run_ended"
    for line in lines:
        assert line.keys() >= LABELS
        assert line["run_id"] == "study"
        assert datetime.fromisoformat(line["timestamp"]).tzinfo is not None
