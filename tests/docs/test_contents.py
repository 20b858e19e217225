"""The pages name every word that a user can write, and their examples of files can be read."""

import re
from pathlib import Path
from typing import Any

import pytest

import actors
import prism
from actors.factory.shipped import replications
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
from prism.statechart import FindingKind, read_chart
from prism.statechart.definition import ChartDefinition, RowDefinition, StateDefinition
from tests.command import Prism
from tests.docs.pages import blocks, read, section
from tests.docs.refresh_tables import DOCUMENT, with_tables
from tests.llm.support import DECISION_REASONS
from tests.paths import ROOT

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
    assert [name for name in sorted(public) if not re.search(rf"\b{name}\b", read(DOCUMENT))] == []


def test_the_page_of_tables_has_the_columns_of_the_schema_whose_keys_join() -> None:
    text, tables = read(DOCUMENT), shipped_tables()
    assert text == with_tables(text), "run `python -m tests.docs.refresh_tables`"
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


def test_the_ledger_has_the_lines_that_are_kept_and_each_is_of_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    page = read(DOCS / "ledger.md")
    monkeypatch.chdir(ROOT)
    for entry in ENTRIES:
        replication: Any = load_replication(entry.path)
        assert entry.line is not None, entry.name
        assert [each.figure for each in entry.line.figures] == [*replication.figures]
        assert f"| [{entry.name}](#{entry.name}) | {hits(entry.line, fitted=False)} | " in page
        for each in entry.line.figures:
            assert f"{each.figure} | {each.published} | {cells_of(each)[2]} | " in page, each
        if replication.data is None or Path(replication.data).exists():
            assert entry.line.asked == make_replication_plan(entry.path).hash, entry.name
