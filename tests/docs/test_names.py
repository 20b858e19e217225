"""Every link, page, file, module, test, command and target that the documentation names exists."""

import importlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import pytest

import actors
import prism
from actors import run
from actors.cli.app import SECTIONS, cli
from actors.cli.command import EXIT_CODES
from actors.core.errors import RunDirectoryError
from actors.factory.config_file import read_config
from actors.factory.domains import chart_of
from actors.factory.shipped import replications
from actors.logs.output import output
from actors.studies.experiments.plan import make_plan
from actors.studies.replications import Entry, cells_of, hits, load_replication, make_replication_plan, read_line
from actors.tables.schema import shipped_tables
from actors.testing import Fault
from prism.checked import field_types
from prism.config import load_config, settings
from prism.config.interventions import CHANGEABLE, KINDS
from prism.config.load import load_interventions
from prism.experiment.replication import read_replication
from prism.expressions.tree import WORDS as LANGUAGE
from prism.social.chart import SOCIAL_CHART, social_behaviour
from prism.social.vocabulary import DELAYS, social_vocabulary
from prism.statechart import Behaviour, FindingKind, lint, read_chart
from prism.statechart.definition import ChartDefinition, RowDefinition, StateDefinition
from tests.command import Prism, prism_alone, without_settings
from tests.docs.pages import PAGES, anchors, blocks, code, links, name, read, section
from tests.docs.refresh import TABLES, refreshed
from tests.llm.support import DECISION_REASONS
from tests.paths import DATA, ROOT

TREES = "actors|prism|benchmarks|deploy|tests|configs|docs"
FILE = re.compile(rf"(?<![\w./-])(?:{TREES})/[\w./@*-]+")
DOTTED = re.compile(r"(?<![\w./-])(?:actors|prism|benchmarks|deploy|tests)(?:\.[A-Za-z_]\w*)+")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
TARGETS = re.compile(r"^make((?: [a-z][a-z-]*)+)", re.MULTILINE)
MENTION = re.compile(r"\bdocs/[\w./-]+\.md(?:#[\w-]+)?")
CURRENT = [page for page in PAGES if page.name != "CHANGELOG.md"]
"""A changelog also names what there was."""
NOT_MODULES = {"prism.yaml", "prism.yml", "prism.domains"}  # the last one is a group of entry points
FOREIGN = {"docs/api.md"}
"""Pages of other projects, which are sources of the test server."""
SUFFIXES = {".py", ".sh", ".yaml", ".yml", ".json", ".md"}


def relative(page: Path) -> list[str]:
    return [target for target in links(page) if "://" not in target]


def is_broken(target: str, directory: Path, own_anchors: set[str]) -> bool:
    path, _, anchor = target.partition("#")
    if not path:
        return anchor not in own_anchors
    file = (directory / path).resolve()
    return not file.exists() or bool(anchor and anchor not in anchors(file))


def is_there(dotted: str) -> bool:
    """Return whether a dotted name is a module, or something in one."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def commands(page: Path) -> Iterator[str]:
    """Yield every line of the page's shell blocks that runs `prism`, its continuation lines joined."""
    for block in blocks(page):
        if block.info in {"sh", "console"}:
            lines = block.text.replace("\\\n", " ").splitlines()
            yield from (line for each in lines if (line := each.strip().removeprefix("$ ")).startswith("prism "))


def test_every_link_leads_to_a_file_and_a_heading_and_every_page_is_reached_from_the_readme() -> None:
    for page in PAGES:
        assert [each for each in relative(page) if is_broken(each, page.parent, anchors(page))] == [], name(page)
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        for target in ((page.parent / each.partition("#")[0]).resolve() for each in relative(page)):
            waiting += target.glob("*.md") if target.is_dir() else [target] if target.suffix == ".md" else []
    assert sorted(map(name, set(PAGES) - reached)) == []


def test_every_page_that_the_code_mentions_exists_with_its_heading() -> None:
    files = [file for tree in TREES.split("|") for file in (ROOT / tree).rglob("*") if file.suffix in SUFFIXES]
    mentioned = {
        (name(file), target)
        for file in [*files, ROOT / "Makefile", ROOT / "pyproject.toml"]
        for target in MENTION.findall(file.read_text(encoding="utf-8"))
    }
    assert len(mentioned) > 20
    assert [each for each in sorted(mentioned) if each[1] not in FOREIGN and is_broken(each[1], ROOT, set())] == []


def test_every_file_module_test_and_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    lost = []
    for page in CURRENT:
        texts = [*code(page)]
        files = {match.rstrip(".") for text in texts for match in FILE.findall(text) if "NAME" not in match}
        lost += [file for file in files if not any(ROOT.glob(file.partition("::")[0].rstrip("/")))]
        dotted = {match for text in texts for match in DOTTED.findall(text)} - NOT_MODULES
        lost += [each for each in dotted if not is_there(each)]
        tests = {each for each in TEST.findall(read(page)) if (ROOT / each[0]).is_file()}
        lost += [test for file, test in tests if f"def {test}(" not in (ROOT / file).read_text(encoding="utf-8")]
        named = {target for text in texts for line in TARGETS.findall(text) for target in line.split()}
        lost += named - targets
        assert lost == [], name(page)


def test_every_prism_command_is_understood() -> None:
    for page in PAGES:
        for line in commands(page):
            command: click.Command | None = cli
            words = shlex.split(line.removesuffix("&"), comments=True)  # one may run in the background
            while isinstance(command, click.Group):
                found, command, rest = command.resolve_command(click.Context(command), words[1:])
                words = [found or "", *rest]
            assert command is not None, line
            with suppress(RunDirectoryError):  # the run of an example is not here
                command.make_context(words[0], words[1:]).close()
            output.reset()  # options such as --quiet have been taken


DOCS = ROOT / "docs"
BEHAVIOUR, PEOPLE, EXPERIMENTS, MODELS = (
    DOCS / f"{page}.md" for page in ("behaviour", "people", "experiments", "language-models")
)


def in_table(heading: str) -> set[str]:
    """Return the words in the first column of the table below a heading of the page on behaviour."""
    rows = re.findall(r"^\| (`.*?) \|", section(BEHAVIOUR, heading), re.MULTILINE)
    return {word for row in rows for word in re.findall(r"`([^`]+)`", row)}


def test_the_page_on_behaviour_names_every_word_of_a_chart_and_nothing_else() -> None:
    words = social_vocabulary()
    for heading, expected in {
        "Keys of a chart": field_types(ChartDefinition),
        "Keys of a row": field_types(RowDefinition),
        "Roles": words.roles,
        "Effects": words.effects,
        "Actions": words.actions,
        "Fields": words.fields,
    }.items():
        assert in_table(heading) == set(expected)
    assert in_table("Faults of a chart") >= set(FindingKind)
    assert set(field_types(StateDefinition)) | set(DELAYS) <= in_table("Keys of a state")
    language = read(BEHAVIOUR).split("### The language")[1].split("\n## ")[0]
    assert [word for word in LANGUAGE if f"`{word}" not in language and f" {word} " not in language] == []
    picture = read(DOCS / "images" / "chart.svg")
    assert all(f">{row.source}<" in picture and row.trigger in picture for row in SOCIAL_CHART.transitions)


def test_pages_name_every_intervention_fault_and_public_name_and_settings_that_exist() -> None:
    text = read(BEHAVIOUR)
    assert all(f"`{kind}`" in text for kind in KINDS)
    assert all(f"`{path}`" in text for path in CHANGEABLE["social"])
    assert all(f"`{path.removeprefix('economy.macro.')}`" in text for path in CHANGEABLE["economy"])
    table = section(MODELS, "Testing without a model")
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \| `(\w+)`(?:;[^|]*)? \|$", table, re.MULTILINE))
    reasons = {fault.value: reason for fault, reason in DECISION_REASONS.items()}
    assert rows == {fault.value: reasons[fault.value] for fault in Fault}
    named = set(re.findall(r"`((?:population|feed|oracle)\.[a-z_.]+)`", section(EXPERIMENTS, "All constants")))
    assert named - {"oracle.choice"} <= {each.path for each in settings()}
    public = {name for name in (*prism.__all__, *actors.__all__) if not name.endswith("Config") or name == "Config"}
    assert [name for name in sorted(public) if not re.search(rf"\b{name}\b", read(TABLES))] == []


def test_settings_columns_and_the_schema_for_editors_are_written_as_the_code_has_them() -> None:
    for path, text in refreshed().items():
        assert read(path) == text, f"{path} is out of date: run `python -m tests.docs.refresh`"


def test_the_keys_of_the_tables_join() -> None:
    tables = shipped_tables()
    for table in tables.values():
        assert table.columns[0].name == "run"
        assert set(table.primary) <= {column.name for column in table.columns}
        for column in table.columns:
            if column.key:
                joined, _, name = column.key.partition(".")
                other = next(each for each in tables[joined].columns if each.name == name)
                assert other.kind == column.kind
                assert {"run", name} >= set(tables[joined].primary), "with the run it is enough to find one row"


def test_examples_of_files_can_be_read() -> None:
    for page in (PEOPLE, DOCS / "domains.md", MODELS, EXPERIMENTS):
        for text in (block.text for block in blocks(page) if block.info == "yaml"):
            if re.match(r"(simulation|population|feed|oracle|llm|run):", text) and "ask_once" not in text:
                load_config(text, "study.yaml")
    chart = next(each.text for each in blocks(BEHAVIOUR) if each.info == "yaml" and each.text.startswith("initial"))
    assert [state.value for state in social_behaviour(read_chart(chart, "page")).states] == [
        "away",
        "reading",
        "writing",
        "liking",
    ]
    study, _, news = (block.text for block in blocks(BEHAVIOUR, "Interventions") if block.info == "yaml")
    more = load_interventions(load_config(study), news, "news.yaml", 72).interventions
    assert len(more) == len(load_config(study).interventions) + 1
    (block,) = [each for each in blocks(DOCS / "replications.md") if each.info == "yaml my-study.yaml"]
    assert len(read_replication(block.text, "my-study.yaml").figures) == 3


@pytest.mark.parametrize("heading", ["Attributes", "Shares from published tables", "Homophily"])
def test_validate_prints_what_the_page_on_people_shows(heading: str, prism: Prism) -> None:
    page, names = blocks(PEOPLE, heading), iter(("age.csv", "region_leaning.csv"))
    for block in page:
        if block.info == "csv":
            Path("people.csv" if heading == "Attributes" else next(names)).write_text(block.text)
    text = [block.text for block in page if block.info == "yaml"][heading == "Attributes"]
    Path("study.yaml").write_text(text)
    ended = prism("validate", "study.yaml")
    assert ended.code == 0
    assert next(block.text for block in page if block.info == "text") in ended.out


ENTRIES = [Entry(name, path, read_line(path.with_suffix(".json"))) for name, path in replications().items()]


STANDING_IN = {
    "feed-facebook": "d516e2d30e3e8e15e12c89f1e458e56270e92c873ed5aef88d5e0dd280bd2c4e",
    "twitter15": "a3612c11a0e900a7adc1b9d64a38bcf8c3009d1183fb3a750720da82842b5cf8",
}
"""`{replication whose data is no part of PRISM: the hash of its plan with an empty file in place of the data}`.

They change when the hash in the ledger is out of date: mend both, that in the ledger with the data.
"""


def test_the_ledger_has_the_lines_that_are_kept_and_each_is_of_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = read(DOCS / "ledger.md")
    monkeypatch.chdir(tmp_path)
    for entry in ENTRIES:
        replication: Any = load_replication(entry.path)
        assert entry.line is not None, entry.name
        assert [each.figure for each in entry.line.figures] == [*replication.figures]
        assert f"| [{entry.name}](#{entry.name}) | {hits(entry.line, fitted=False)} | " in page
        for each in entry.line.figures:
            assert f"{each.figure} | {each.published} | {cells_of(each)[2]} | " in page, each
        if replication.data is not None:
            Path(replication.data).touch()
        asked = STANDING_IN.get(entry.name, entry.line.asked)
        assert make_replication_plan(entry.path).hash == asked, entry.name
        if replication.data is not None and (DATA / replication.data).exists():
            Path(replication.data).write_bytes((DATA / replication.data).read_bytes())
            assert make_replication_plan(entry.path).hash == entry.line.asked, entry.name


PAGE = ROOT / "docs" / "llms.txt"
COMMANDS = [line for block in blocks(PAGE) if block.info == "sh" for line in block.text.splitlines()]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the files of the page."""
    for block in blocks(PAGE):
        if " " in block.info:
            (tmp_path / block.info.split()[1]).write_text(block.text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_names_every_command_and_exit_code() -> None:
    text = read(PAGE)
    named = set(re.findall(r"`([a-z-]+)", text.split("\n## 8. Commands\n")[1].split("\n## ")[0]))
    assert named >= {name for commands in SECTIONS.values() for name in commands}
    assert set(re.findall(r"\b\d+\b", text.split("Exit codes:")[1].split("An error")[0])) >= EXIT_CODES.keys()
    for line in COMMANDS:
        cli.make_context("prism", shlex.split(line)[1:]).close()


@pytest.mark.usefixtures("place")
def test_the_files_of_the_page_are_understood_and_its_domain_runs() -> None:
    config = read_config(Path("study.yaml"), ["statechart.file=chart.yaml"])
    behaviour = chart_of(config)
    assert isinstance(behaviour, Behaviour)
    assert lint(behaviour.chart, assume=behaviour.assumed) == []
    assert len(make_plan(Path("matters.yaml")).cells) == 12
    result = run("commute.yaml")
    assert 0 < result.summary.world["cars"] < 60
    assert result.summary.oracle_questions > 0


@pytest.mark.slow
def test_every_command_and_script_of_the_page_runs_in_its_order(place: Path) -> None:
    environment = {**without_settings(), "PYTHONPATH": str(ROOT)}
    for block in blocks(PAGE):
        for line in block.text.splitlines() if block.info == "sh" else ():
            ended = prism_alone(*shlex.split(line)[1:])
            assert ended.code == 0, (line, ended.err)
            if line.endswith("--json"):
                assert json.loads(ended.out)
        if block.info.startswith("python "):
            subprocess.run([sys.executable, block.info.split()[1]], cwd=place, env=environment, check=True)
    (answer,) = json.loads(Path("experiments/matters/outcome.json").read_text())["answers"]
    assert answer["text"].startswith(("Yes", "No", "Undecided"))
