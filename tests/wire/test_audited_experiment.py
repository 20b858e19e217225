"""`prism audit` of an experiment whose cells have asked a model over a socket."""

import json
from pathlib import Path

import pytest

from tests.command import Prism, begin, end
from tests.standin import ModelServer, ServerSettings
from tests.standin.planted import planted
from tests.wire.support import settings, write

EXPERIMENT = {
    "question": "Do longer feeds bring more likes?",
    "base": "base.yaml",
    "design": {"conditions": {"short": {"feed.size": 2}, "long": {"feed.size": 8}}},
    "seeds": 3,
    "measures": {"likes": "likes"},
    "hypotheses": [{"measure": "likes", "contrast": ["long", "short"], "alternative": "greater"}],
}


@pytest.mark.slow
def test_the_audit_says_how_many_cells_it_asked_about_and_gives_a_verdict_on_each_hypothesis(
    prism: Prism, tmp_path: Path
) -> None:
    with ModelServer(ServerSettings(reply=planted("persona"))) as server:
        base = settings(
            server.url,
            simulation={"rounds": 1, "ticks_per_round": 24},
            population={"size": 50, "ambiguity": 0.9, "posts_per_session": 0.5},
            llm={"systemone": "off", "temperature": 0.0, "method": "json"},
        )
        write(base, "base.yaml")
        write(EXPERIMENT, "e.yaml")
        # In a process of its own, as the gateway of an experiment expects.
        end(begin("experiment", "e.yaml", "-q", cwd=tmp_path))
        ended = prism("audit", "experiments/e", "--calls", "260", "--draws", "1", "--jobs", "2")
    assert ended.code == 0, ended.err
    audit = json.loads(Path("experiments/e/audit/audit.json").read_text())
    assert (audit["cells"], len(audit["digests"])) == (4, 6)
    assert " recorded questions in 4 of 6 cells are asked again, with " in ended.err
    assert f"Of {audit['recorded']} recorded questions in 4 of 6 cells to llama3.2, a random" in audit["paragraph"]
    # The question about the study goes to people of all these cells, and so to all of a small sample.
    assert audit["known"]["asked"] == min(24, audit["sampled"]) > audit["sampled"] / 2
    [claim] = audit["claims"]
    assert claim["claim"] == "likes: long is greater than short"
    assert claim["verdict"] in ("survives", "weakens", "turns", "cannot tell")
    assert len(claim["carried"]) == len(audit["shifts"]) - 1
    verb = {"survives": "survives", "weakens": "weakens", "turns": "turns into its opposite"}
    assert f"1 claim {verb.get(claim['verdict'], 'cannot be judged')}: {claim['claim']}" in audit["paragraph"]
    assert prism("report", "experiments/e", "--out", "report.html").code == 0
    assert audit["paragraph"].replace(">", "&gt;").replace("<", "&lt;") in Path("report.html").read_text()
