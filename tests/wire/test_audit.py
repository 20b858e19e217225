"""`prism audit` over a socket: what it finds, what it leaves as it is, and that no answer is paid twice."""

import csv
import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from actors.core.errors import JournalError
from actors.studies.audit.questions import Cell, Study
from actors.studies.audit.record import answers_kept
from tests.command import Prism, begin, end, prism_alone
from tests.patience import wait_until
from tests.standin import Latency, ModelServer, ServerSettings
from tests.standin.planted import planted
from tests.wire.support import settings, write

SECTIONS: dict[str, Any] = {
    "simulation": {"rounds": 2, "ticks_per_round": 24, "seed": 1},
    "population": {"size": 80, "ambiguity": 0.6, "posts_per_session": 0.5, "activity": {"mean": 0.9}},
    "llm": {"systemone": "off", "temperature": 0.0, "method": "json"},
    "run": {"checkpoint_every_ticks": 0},
    "metrics": {"enabled": False},
}
WAYS = ["again", "wording", "persona", "order", "temperature"]


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    """A server of a model that acts more if the person is described in a list, and is sound otherwise."""
    with ModelServer(ServerSettings(reply=planted("persona"))) as served:
        yield served


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> Path:
    """A run of that model. Tests use copies of it."""
    place = tmp_path_factory.mktemp("studied")
    name = write(settings(server.url, **SECTIONS), str(place / "wire.yaml"))
    ended = prism_alone("run", name, "-q", "--out", str(place / "run"))
    assert ended.code == 0, ended.err
    return place / "run"


@pytest.fixture
def run(studied: Path, prism: Prism, tmp_path: Path) -> Path:
    """A copy of the run, in the current directory."""
    del prism  # it changes the directory
    shutil.copytree(studied, tmp_path / "run")
    return Path("run")


def found(run: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((run / "audit" / "audit.json").read_text())
    return loaded


def test_what_decides_is_named_beside_another_host_and_real_people_and_each_answer_is_paid_once(
    run: Path, prism: Prism, server: ModelServer
) -> None:
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    assert prism("export", "run", "--to", "csv", "--out", "tables").code == 0
    with Path("tables", "questions.csv").open(encoding="utf-8", newline="") as file:
        lines = [f"{row['tick']};{row['answer']};{row['agent']}" for row in csv.DictReader(file)]
    Path("real.csv").write_text("\n".join(["tick;choice;agent", *lines]))
    calls = len(server.calls)
    with ModelServer(ServerSettings(reply=planted("constant"))) as other:
        compared = ("--against", "real.csv", "--other", f"llm.host={other.url}")
        audited = ("audit", "run", "--calls", "300", "--draws", "1", "--about", "ranking of feeds", *compared)
        ended = prism(*audited)
        assert ended.code == 0, ended.err
        made, elsewhere = len(server.calls) - calls, len(other.calls)
        first = (run / "audit" / "audit.json").read_bytes()
        # What was asked is not asked again, but for the checks of the server.
        assert prism(*audited, "--jobs", "2").code == 0
        assert len(server.calls) - calls - made <= 2 * (len(WAYS) + 3)
        assert (run / "audit" / "audit.json").read_bytes() == first
    assert made + elsewhere <= 300
    audit = found(run)
    *shifts, model = audit["shifts"]
    assert [each["way"] for each in shifts] == WAYS
    assert [each["way"] for each in shifts if each["finding"] == "moves"] == ["persona"]
    assert (model["way"], model["what"], model["finding"]) == ("model", "host", "moves")
    assert elsewhere >= model["questions"]
    [scrolling] = [each for each in model["options"] if each["option"] == "scrolling"]
    assert scrolling["after"] == 1.0
    assert audit["known"]["knows"] is False
    assert {each["decider"] for each in audit["deciders"]} == {"embedded", "first option", "plain question"}
    for said in (
        "depend on the persona format",
        "The answers depend on",
        "Real people: of ",
        "turns that rules settled",
    ):
        assert said in ended.out
    assert audit["paragraph"].startswith("We audited the study with PRISM.")
    assert audit["futures"] > 0
    assert audit["ruled"]["questions"] > 10
    assert 0.0 <= audit["ruled"]["turned"]["low"] < audit["ruled"]["turned"]["high"] <= 100.0
    # Real people who chose as the model did are as varied, and a situation tells more than shares alone.
    variety = audit["variety"]
    assert (variety["beside"], variety["beside_what"]) == (variety["model"], "real people")
    assert variety["calibration"]["choices"] == len(lines)
    assert variety["calibration"]["log_loss"]["value"] < variety["calibration"]["log_loss_of_shares"]
    # The run stays as it is, and its page for a paper shows the audit, without the address of the server.
    assert {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()} == before
    assert prism("report", "run", "--odd").code == 0
    sheet = Path("odd.md").read_text()
    assert audit["paragraph"] in sheet
    assert "127.0.0.1" not in sheet


def test_what_is_logged_meanwhile_goes_to_standard_error(
    run: Path, prism: Prism, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def logs(*_: object) -> None:
        structlog.get_logger().warning("guard_raised")
        raise JournalError("that was it")

    monkeypatch.setattr("actors.cli.audit.Auditing.audit", logs)
    ended = prism("audit", "run", "--calls", "300", "--json", "--log-format", "json")
    assert (ended.code, ended.out) == (1, "")
    assert [json.loads(line)["event"] for line in ended.err.splitlines()].count("guard_raised") == 1


def test_what_cannot_be_audited_so_is_refused_in_one_line_before_any_question(
    run: Path, prism: Prism, server: ModelServer
) -> None:
    calls = len(server.calls)
    cases: list[tuple[tuple[str, ...], int, str]] = [
        (("--calls", "40"), 2, "calls or more, and --calls 40 leaves it 40"),
        (("--yes", "--set", "population.size=3"), 2, "population.size"),
        ((), 2, "nobody can be asked here"),
        (("--calls", "300", "--set", "llm.host=http://127.0.0.1:9"), 5, "http://127.0.0.1:9"),
        (("--against", "none.csv"), 3, "none.csv: no such file"),
    ]
    for other, code, problem in (
        ("population.size=3", 2, "run: --other population.size cannot be set here: "),
        ("llm.temperature=hot", 3, "--other: llm.temperature: expected float 0 to 2"),
        ("llama", 3, "--other: expected key=value, got 'llama'"),
        ("llm.model=nosuch", 5, "--other: the Ollama server at "),
    ):
        cases.append((("--calls", "150", "--other", other), code, f"prism: {problem}"))
    for text, problem in {
        b"agent,choise\n1,scrolling\n": ".csv:1: expected the columns agent and choice, and perhaps tick; ",
        b"choice,agent\nengaging_like\n": ".csv:2: expected 2 columns, got 1",
        b"agent,choice\n1,scrolling\nAnn,scrolling\n": ".csv:3: expected whole numbers as agent and tick, got 'An",
        b"agent,choice\n1,scrolling\n1,likes\n": ".csv:3: choice: expected one of: scrolling, ",
    }.items():
        name = f"{len(cases)}.csv"
        Path(name).write_bytes(text)
        cases.append((("--calls", "150", "--against", name), 3, problem))
    for arguments, code, problem in cases:
        ended = prism("audit", "run", *arguments)
        assert (ended.code, problem in ended.err.splitlines()[-1]) == (code, True), ended.err
    assert len(server.calls) - calls <= 4, "no more than the checks of the server"
    ended = prism("audit", "run", "--calls", "150", "--draws", "0", "--set", "oracle.max_calls=3")
    assert (ended.code, "only 3 of" in ended.err, "(spent" in ended.err) == (5, True, True), ended.err
    assert not (run / "audit" / "audit.json").exists()


async def test_a_question_that_two_conditions_put_alike_under_one_seed_counts_once(run: Path) -> None:
    async def gathered(*seeds: int) -> Study:
        study = Study([Cell(run, f"condition {place}", seed) for place, seed in enumerate(seeds)], len(seeds))
        await study.gather(20, 10, 1)
        return study

    alone, alike, apart = await gathered(1), await gathered(1, 1), await gathered(1, 2)
    assert [each.question for each in alike.askings] == [each.question for each in alone.askings]
    assert (alike.sample.keys(), len(alike.sample)) == (alone.sample.keys(), 20)
    assert [each.question for each in alike.ruled.values()] == [each.question for each in alone.ruled.values()]
    # Under another seed the people are others.
    assert len(apart.askings) == 2 * len(alone.askings)
    assert len(apart.sample) == 20


@pytest.mark.slow
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_audit_goes_on_with_the_answers_that_it_has(
    kind: signal.Signals, run: Path, prism: Prism, server: ModelServer, tmp_path: Path
) -> None:
    arguments = ("--calls", "300", "--draws", "0")
    shutil.copytree("run", "undisturbed")
    assert prism("audit", "undisturbed", *arguments).code == 0
    usual, calls = server.settings, len(server.calls)
    server.settings = ServerSettings(reply=planted("persona"), latency=Latency(mean_s=0.2))
    try:
        process = begin("audit", "run", *arguments, "--set", "oracle.max_concurrency=2", cwd=tmp_path)
        wait_until(lambda: len(server.calls) - calls >= 20, process)
        process.send_signal(kind)
        err = end(process, 130 if kind == signal.SIGINT else -signal.SIGKILL).err
    finally:
        server.settings = usual
    assert not (run / "audit" / "audit.json").exists()
    kept = answers_kept(run)
    if kind == signal.SIGINT:
        told = f"{kept} answers kept in run/audit, none of which is paid again; go on with: prism audit run --calls 300"
        assert f"SIGINT: {told} --draws 0" in err.splitlines()[-1]
    calls = len(server.calls)
    assert prism("audit", "run", *arguments).code == 0
    # What is asked now, and what was kept, is all that an audit asks; besides, each server is looked at.
    assert kept + len(server.calls) - calls - answers_kept(run) <= 2 * (len(WAYS) + 3)
    assert {**found(run), "study": ""} == {**found(Path("undisturbed")), "study": ""}


EXPERIMENT = {
    "question": "Do longer feeds bring more likes?",
    "base": "base.yaml",
    "design": {"conditions": {"short": {"feed.size": 2}, "long": {"feed.size": 8}}},
    "seeds": 3,
    "measures": {"likes": "likes"},
    "hypotheses": [{"measure": "likes", "contrast": ["long", "short"], "alternative": "greater"}],
}


@pytest.mark.slow
def test_an_audit_says_how_many_cells_of_an_experiment_it_asked_about_and_gives_a_verdict_on_each_hypothesis(
    prism: Prism, server: ModelServer, tmp_path: Path
) -> None:
    people = {"size": 50, "ambiguity": 0.9, "posts_per_session": 0.5}
    short = {"simulation": {"rounds": 1, "ticks_per_round": 24}, "population": people, "llm": SECTIONS["llm"]}
    write(settings(server.url, **short), "base.yaml")
    write(EXPERIMENT, "e.yaml")
    # In a process of its own, as the gateway of an experiment expects.
    end(begin("experiment", "e.yaml", "-q", cwd=tmp_path))
    ended = prism("audit", "experiments/e", "--calls", "260", "--draws", "1", "--jobs", "2")
    assert ended.code == 0, ended.err
    audit = found(Path("experiments/e"))
    assert (audit["cells"], len(audit["digests"])) == (4, 6)
    assert f"Of {audit['recorded']} recorded questions in 4 of 6 cells to llama3.2, a random" in audit["paragraph"]
    [claim] = audit["claims"]
    assert claim["claim"] == "likes: long is greater than short"
    assert len(claim["carried"]) == len(audit["shifts"]) - 1
    assert f": {claim['claim']}" in audit["paragraph"]
    assert prism("report", "experiments/e", "--out", "report.html").code == 0
    page = Path("report.html").read_text()
    assert audit["paragraph"].replace(">", "&gt;").replace("<", "&lt;") in page
    assert "Shifts when asked in another way" in page
