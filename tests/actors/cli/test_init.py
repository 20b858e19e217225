"""`prism init`."""

import gzip
from pathlib import Path

import pytest

from actors.factory.shipped import examples, studies
from actors.studies.calibration import make_calibration_plan
from actors.studies.experiments.plan import make_plan
from tests.command import Prism
from tests.paths import ROOT, real_path


def test_init_writes_the_default_world_which_runs_as_it_is(prism: Prism) -> None:
    ended = prism("init", "study")
    written = "wrote study/prism.yaml\nwrote study/schema.json\nnext: prism run study/prism.yaml\n"
    assert (ended.code, ended.out) == (0, written)
    first, _, rest = Path("study/prism.yaml").read_text().partition("\n")
    assert first == "# yaml-language-server: $schema=schema.json"
    assert rest == (ROOT / "configs" / "default.yaml").read_text(encoding="utf-8")
    assert prism("run", "study/prism.yaml", "--ticks", "2", "--quiet", "--out", "run").code == 0


def test_init_lists_the_examples_and_the_settings_with_a_word_in_their_names(prism: Prism) -> None:
    lines = prism("init", "--list").out.splitlines()
    assert [line.split()[0] for line in lines] == [*examples(), *studies()]
    assert lines[0].endswith("2,000 made-up people on a social network, 50 rounds, an interest feed")
    lines = prism("init", "--settings", "feed.re").out.splitlines()
    assert lines[0] == "feed.recent: 1000 (int 1 to 1000000)"
    assert [line.split(":")[0] for line in lines[::2]] == ["feed.recent", "feed.reshare_credit"]


def test_an_example_whose_data_one_fetches_says_so_until_they_are_there(prism: Prism) -> None:
    assert prism("init", "--example", "higgs").out.endswith("next: prism run higgs/prism.yaml\n")
    graph = "higgs-social_network.txt.gz"
    told = prism("validate", "higgs/prism.yaml").err
    assert told.startswith(f"prism: higgs/prism.yaml:12: population.graph.path: {graph}: no such file")
    Path("higgs", graph).write_bytes(gzip.compress(b"0 1\n1 2\n"))
    assert prism("validate", "higgs/prism.yaml").code == 0


@pytest.mark.everyday(2)
@pytest.mark.parametrize("name", studies())
def test_a_study_has_all_it_needs_in_a_directory_of_its_own(name: str, prism: Prism) -> None:
    study = studies()[name]
    Path("facebook_combined.txt.gz").write_bytes(gzip.compress(b"0 1\n1 2\n"))  # which whoever runs it downloads
    ended = prism("init", "mine", "--example", name)
    assert ended.out.endswith(f"next: prism {study.command} mine/{study.command}.yaml\n")
    written = Path(f"mine/{study.command}.yaml")
    assert "configs/" not in written.read_text()
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
