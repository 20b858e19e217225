"""`prism init`."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from actors.factory.shipped import examples, studies
from actors.studies.calibration.calibration_plan import make_calibration_plan
from actors.studies.experiments.plan import make_plan
from tests.catalogue import catalogue
from tests.command import Prism
from tests.paths import ROOT, real_path


def test_init_writes_the_default_world_which_runs_as_it_is(prism: Prism) -> None:
    ended = prism("init", "study")
    assert (ended.code, ended.out) == (
        0,
        "wrote study/prism.yaml\nwrote study/schema.json\nnext: prism run study/prism.yaml\n",
    )
    first, _, rest = Path("study/prism.yaml").read_text().partition("\n")
    assert first == "# yaml-language-server: $schema=schema.json"
    assert rest == (ROOT / "configs" / "default.yaml").read_text(encoding="utf-8")
    assert prism("run", "study/prism.yaml", "--ticks", "4", "--quiet", "--out", "run").code == 0


def test_init_leaves_an_existing_file_alone(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "prism.yaml").write_text("mine")
    ended = prism("init", ".")
    assert (ended.code, ended.err) == (2, "prism: prism.yaml: exists already and was left as it is\n")
    assert (tmp_path / "prism.yaml").read_text() == "mine"


def test_init_lists_the_examples(prism: Prism) -> None:
    lines = prism("init", "--list").out.splitlines()
    assert [line.split()[0] for line in lines] == [*examples(), *studies()]
    assert "experiments/feed" in studies()
    assert lines[0].endswith("2,000 made-up people on a social network, 50 rounds, an interest feed")
    assert not Path("default").exists()


def test_init_lists_the_settings_with_a_word_in_their_names(prism: Prism) -> None:
    lines = prism("init", "--settings", "feed.re").out.splitlines()
    assert lines[0] == "feed.recent: 1000 (int 1 to 1000000)"
    assert [line.split(":")[0] for line in lines[::2]] == ["feed.recent", "feed.reshare_credit"]
    ended = prism("init", "--settings", "feed.re", "mine")
    assert (ended.code, "take no DIR, got 'mine'" in ended.err) == (2, True)
    ended = prism("init", "--settings", "sise")
    assert (ended.code, ended.err.splitlines()[-1]) == (2, "prism: no setting has 'sise' in its name")


@catalogue("name", examples())
def test_init_writes_each_example_into_a_directory_of_its_name(name: str, prism: Prism) -> None:
    ended = prism("init", "--example", name)
    assert ended.code == 0
    assert ended.out.startswith(f"wrote {name}/prism.yaml\n")
    assert ended.out.endswith(f"next: prism run {name}/prism.yaml\n")
    if name == "higgs":
        told = prism("validate", "higgs/prism.yaml")
        assert told.err.startswith(
            "prism: higgs/prism.yaml:12: population.graph.path: higgs-social_network.txt.gz: no such file"
        )
        Path("higgs/higgs-social_network.txt.gz").write_bytes(gzip.compress(b"0 1\n1 2\n"))  # which one fetches
    fewer = ("--set", "population.size=2000") if name == "million" else ()
    assert prism("validate", f"{name}/prism.yaml", *fewer).code == 0


@pytest.mark.everyday(5)
@pytest.mark.parametrize("name", studies())
def test_a_study_has_all_it_needs_in_a_directory_of_its_own(name: str, prism: Prism) -> None:
    study = studies()[name]
    Path("facebook_combined.txt.gz").write_bytes(gzip.compress(b"0 1\n1 2\n"))  # which whoever runs it downloads
    ended = prism("init", "mine", "--example", name)
    assert ended.code == 0
    assert ended.out.endswith(f"next: prism {study.command} mine/{study.command}.yaml\n")
    assert "configs/" not in Path(f"mine/{study.command}.yaml").read_text()
    written = Path(f"mine/{study.command}.yaml")
    if study.command == "experiment":
        assert make_plan(written).cells
    else:
        Path("mine/twitter15-cascades.csv.gz").write_bytes(real_path("twitter15-cascades.csv.gz").read_bytes())
        assert make_calibration_plan(written).calibration.parameters


@pytest.mark.slow
def test_an_example_runs_beside_its_data_and_names_its_runs_after_its_directory(prism: Prism) -> None:
    assert prism("init", "rates", "--example", "economy").code == 0
    assert prism("run", "rates/prism.yaml", "--quiet").out == "f330434e20d2f3af8b25384fff999b4f\n"
    (kept,) = Path("runs/rates-001/inputs").glob("*/us-macro-quarterly.csv")
    assert kept.read_bytes() == Path("rates/data/us-macro-quarterly.csv").read_bytes()


def test_an_example_that_is_not_there_is_answered_with_the_list(prism: Prism) -> None:
    ended = prism("init", "--example", "ecnomy")
    assert ended.code == 2
    assert "no example is called 'ecnomy'; there are:" in ended.err
    assert all(f"\nprism: {name} " in ended.err for name in examples())
    assert not Path("ecnomy").exists()


def test_an_example_whose_data_file_exists_already_is_not_written_by_half(prism: Prism) -> None:
    Path("economy/data").mkdir(parents=True)
    Path("economy/data/us-macro-quarterly.csv").write_text("mine")
    ended = prism("init", "--example", "economy")
    assert ended.code == 2
    assert "economy/data/us-macro-quarterly.csv: exists already" in ended.err
    assert not Path("economy/prism.yaml").exists()


def test_an_example_and_a_template_exclude_each_other(prism: Prism) -> None:
    ended = prism("init", "--example", "economy", "--template", "domain")
    assert ended.code == 2
    assert "exclude each other" in ended.err
