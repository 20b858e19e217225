"""`prism audit` over a socket: what it finds, what it leaves as it is, and that no answer is paid twice."""

import csv
import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.studies.audit.questions import Cell, Study
from actors.studies.audit.record import answers_kept
from tests.command import Prism, begin, end, prism_alone
from tests.patience import wait_until
from tests.standin import Latency, Logprobs, ModelServer, ServerSettings
from tests.standin.planted import planted
from tests.wire.support import configure, settings, write

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


def test_a_persona_format_that_decides_is_named_and_each_answer_is_paid_once(
    run: Path, prism: Prism, server: ModelServer
) -> None:
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    calls = len(server.calls)
    first_time = ("audit", "run", "--calls", "300", "--draws", "1", "--about", "ranking of feeds")
    ended = prism(*first_time)
    assert ended.code == 0, ended.err
    made = len(server.calls) - calls
    assert "at most 300 calls" in ended.err or "at most 29" in ended.err
    assert made <= 300
    audit = found(run)
    assert [each["way"] for each in audit["shifts"]] == WAYS
    assert [each["way"] for each in audit["shifts"] if each["finding"] == "moves"] == ["persona"]
    assert audit["known"]["knows"] is False
    assert {each["decider"] for each in audit["deciders"]} == {"embedded", "first option", "plain question"}
    assert "depend on the persona format" in ended.out
    assert audit["paragraph"].startswith("We audited the study with PRISM.")
    assert audit["futures"] > 0
    assert audit["ruled"]["questions"] > 10
    assert f"Rules: of {audit['ruled']['questions']} turns that rules settled, the model would settle" in ended.out
    assert 0.0 <= audit["ruled"]["turned"]["low"] < audit["ruled"]["turned"]["high"] <= 100.0
    [largest, *_] = audit["claims"]
    assert [each["way"] for each in largest["carried"]] == [each["what"] for each in audit["shifts"][1:]]
    # The run stays as it is, and what was asked is not asked again.
    after = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
    assert after == before
    calls = len(server.calls)
    first = (run / "audit" / "audit.json").read_bytes()
    assert prism(*first_time, "--jobs", "2").code == 0
    assert len(server.calls) - calls <= 2 * (len(WAYS) + 3)  # the checks of the server
    assert (run / "audit" / "audit.json").read_bytes() == first
    # The pages show it.
    assert prism("report", "run", "--out", "report.html").code == 0
    page = Path("report.html").read_text()
    assert "We audited the study with PRISM." in page
    assert "Shifts when asked in another way" in page
    assert prism("report", "run", "--odd").code == 0
    sheet = Path("odd.md").read_text()
    assert "decides what rules leave open: llama3.2 by ollama" in sheet
    assert "127.0.0.1" not in sheet
    assert found(run)["paragraph"] in sheet
    assert {"### 1. Purpose and patterns", "### 7. Submodels", "### Evaluation"} <= {*sheet.splitlines()}
    assert "Put yourself in the place of one person" in sheet
    assert sheet.count("**[OPEN]**") > 5


def test_a_study_that_cannot_be_audited_is_refused_in_one_line(run: Path, prism: Prism) -> None:
    assert prism("run", "--set", "simulation.rounds=1", "--out", "plain", "-q").code == 0
    economy = ("simulation.domain=economy", "simulation.rounds=1", "oracle.backend=ollama", "llm.num_ctx=4096")
    with ModelServer() as gone:
        url = gone.url
        overrides = [f"--set={each}" for each in (*economy, f"llm.host={url}")]
        assert prism("run", *overrides, "--out", "economy", "-q").code == 0
    options = "prism: economy: an audit compares choices among options, such as those of people on a feed; the domain "
    for arguments, code, problem in (
        (("run", "--calls", "40"), 2, "calls or more, and --calls 40 leaves it 40"),
        (("run", "--yes", "--set", "population.size=3"), 2, "population.size"),
        (("run",), 2, "nobody can be asked here"),
        (("plain", "--yes"), 2, "this run asks no model"),
        (("economy", "--yes"), 2, f"{options}economy asks for something else\n"),
        (("run", "--calls", "300", "--of", "nosuch"), 2, "nosuch"),
        (("run", "--calls", "300", "--set", f"llm.host={url}"), 5, url),
    ):
        ended = prism("audit", *arguments)
        assert (ended.code, problem in ended.err) == (code, True), ended.err
    assert not (run / "audit" / "audit.json").exists()


def test_choices_of_real_people_that_cannot_be_read_are_refused_before_the_first_call(
    run: Path, prism: Prism, server: ModelServer
) -> None:
    calls = len(server.calls)
    columns = "real.csv:1: expected the columns agent and choice, and perhaps tick"
    for text, problem in {
        b"": f"{columns}; it is empty",
        b"agent,choise\n1,scrolling\n": f"{columns}; there is no choice",
        b"agent,choice\n": "real.csv: expected a row for each choice; there is none",
        b"choice,agent\nengaging_like\n": "real.csv:2: expected 2 columns, got 1",
        b"agent,choice\n1,scrolling\nAnn,scrolling\n": "real.csv:3: expected whole numbers as agent and tick, got 'An",
        b"agent,choice\n1,scrolling\n1,likes\n": "real.csv:3: choice: expected one of: scrolling, ",
        b"agent,choice\n1,caf\xe9\n": "real.csv:2: expected UTF-8 text, got byte 0xe9",
    }.items():
        Path("real.csv").write_bytes(text)
        ended = prism("audit", str(run), "--calls", "150", "--against", "real.csv")
        last = ended.err.splitlines()[-1]
        assert (ended.code, problem in last) == (3, True), ended.err
    ended = prism("audit", str(run), "--calls", "150", "--against", "none.csv")
    assert (ended.code, "none.csv: no such file" in ended.err) == (3, True), ended.err
    assert len(server.calls) == calls


def test_choices_of_real_people_stand_beside_the_models(run: Path, prism: Prism) -> None:
    """Those of the model itself are as varied as it, and what is known of a situation tells more than shares alone."""
    assert prism("export", "run", "--to", "csv", "--out", "tables").code == 0
    with Path("tables", "questions.csv").open(encoding="utf-8", newline="") as file:
        lines = [f"{row['tick']};{row['answer']};{row['agent']}" for row in csv.DictReader(file)]
    Path("real.csv").write_text("\n".join(["tick;choice;agent", *lines]))
    ended = prism("audit", "run", "--calls", "150", "--draws", "0", "--against", "real.csv")
    assert ended.code == 0, ended.err
    variety = found(run)["variety"]
    assert variety["beside"] == variety["model"]
    assert variety["beside_what"] == "real people"
    real = variety["calibration"]
    assert real["choices"] == len(lines)
    assert real["log_loss"]["value"] < real["log_loss_of_shares"]
    assert f"Real people: of {len(lines):,} choices, the model misses by" in ended.out


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


def test_another_host_is_asked_too_and_one_that_decides_otherwise_is_named(run: Path, prism: Prism) -> None:
    arguments = ("audit", "run", "--calls", "300", "--draws", "0", "--other")
    ended = prism(*arguments, "llm.modell=x")
    assert (ended.code, "--other: llm.modell: unknown key" in ended.err) == (3, True), ended.err
    with ModelServer(ServerSettings(reply=planted("constant"))) as other:
        ended = prism(*arguments, f"llm.host={other.url}")
        asked = len(other.calls)
    assert ended.code == 0, ended.err
    *_, shift = found(run)["shifts"]
    assert (shift["way"], shift["what"], shift["finding"]) == ("model", "host", "moves")
    assert asked >= shift["questions"]
    [scrolling] = [each for each in shift["options"] if each["option"] == "scrolling"]
    assert scrolling["after"] == 1.0
    assert "The answers depend on the host: " in ended.out
    assert "127.0.0.1" not in found(run)["paragraph"]


def test_another_temperature_is_no_other_model(run: Path, prism: Prism) -> None:
    ended = prism("audit", "run", "--calls", "150", "--draws", "0", "--other", "llm.temperature=0.4")
    assert ended.code == 0, ended.err
    audit = found(run)
    assert [each["way"] for each in audit["shifts"]] == WAYS
    *_, shift = audit["shifts"]
    assert shift["what"] == "temperature (0.4 in place of 0)"
    assert shift["turned"] == {"value": 0.0, "low": None, "high": None}
    assert "model (" not in audit["paragraph"]


@pytest.mark.parametrize(
    ("other", "code", "problem"),
    [
        ("population.size=3", 2, "run: --other population.size cannot be set here: "),
        ("llm.temperature=hot", 3, "--other: llm.temperature: expected float 0 to 2"),
        ("llm.temperature", 3, "--other: expected key=value, got 'llm.temperature'"),
        ("llama", 3, "--other: expected key=value, got 'llama'"),
        ("llm.model=nosuch", 5, "--other: the Ollama server at "),
    ],
)
def test_another_model_that_cannot_be_asked_is_refused_before_any_question(
    other: str, code: int, problem: str, run: Path, prism: Prism, server: ModelServer
) -> None:
    before = len(server.calls)
    ended = prism("audit", str(run), "--calls", "150", "--other", other)
    last = ended.err.splitlines()[-1]
    assert (ended.code, last.startswith(f"prism: {problem}")) == (code, True), ended.err
    assert len(server.calls) - before <= 2


def test_probabilities_and_single_answers_are_compared_by_shares_alone(prism: Prism) -> None:
    """A drawn answer is far from probabilities also where nothing has changed."""
    sections = {**SECTIONS, "population": {**SECTIONS["population"], "size": 60}, "oracle": {"backend": "openai"}}
    sections["llm"] = {"temperature": 1.0}
    with ModelServer(ServerSettings(logprobs=Logprobs.GRAMMAR)) as likely, ModelServer() as plain:
        assert prism("run", configure(likely.url, **sections), "-q", "--out", "run").code == 0
        other = ("--other", f"llm.host={plain.url}", "--other", "llm.method=json")
        ended = prism("audit", "run", "--calls", "150", "--draws", "0", *other)
    assert ended.code == 0, ended.err
    audit = found(Path("run"))
    turned = {each["way"]: each["turned"] for each in audit["shifts"]}
    assert turned["model"] == turned["again"] == {"value": 0.0, "low": None, "high": None}
    assert turned["wording"]["high"] > 0.0
    [note] = [each for each in audit["notes"] if "only one of the two ways gave probabilities" in each]
    assert note.startswith("host (llm.method=json): ")
    assert note in ended.err
    assert "llama3.2, which gave the probability of each option, a random" in audit["paragraph"]


def test_a_cap_leaves_questions_without_an_answer_and_says_so(run: Path, prism: Prism) -> None:
    arguments = ("audit", "run", "--calls", "300", "--draws", "0")
    ended = prism(*arguments, "--set", "oracle.max_calls=3")
    assert (ended.code, "only 3 of" in ended.err, "(spent" in ended.err) == (5, True, True), ended.err
    assert not (run / "audit" / "audit.json").exists()
    ended = prism(*arguments, "--set", "oracle.max_calls=20")
    assert ended.code == 0, ended.err
    assert any(note.endswith("have no answer: spent; they are left out") for note in found(run)["notes"])


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
