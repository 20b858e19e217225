"""`prism init`."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import pairwise
from operator import attrgetter
from pathlib import Path

import pytest
import yaml

from actors.factory.domains import DOMAINS
from actors.factory.shipped import examples, studies
from actors.studies.calibration.calibration_plan import make_calibration_plan
from actors.studies.experiments.plan import make_plan
from prism.config import FIRST_SETTINGS, Config, load_config, settings
from prism.config.describe import STARTER_WIDTH
from tests.catalogue import catalogue
from tests.command import Prism
from tests.paths import ROOT, real_path


@pytest.mark.parametrize("domain", DOMAINS)
def test_init_writes_a_configuration_of_each_domain_that_runs_as_it_is(domain: str, prism: Prism) -> None:
    ended = prism("init", "study", "--domain", domain)
    assert (ended.code, ended.out) == (0, "wrote study/prism.yaml\nnext: prism run study/prism.yaml\n")
    assert prism("validate", "study/prism.yaml").code == 0
    assert prism("run", "study/prism.yaml", "--ticks", "4", "--quiet", "--out", "run").code == 0
    assert f"domain: {domain}\n" in Path("run/config.yaml").read_text()


def read(path: str, config: Config) -> object:
    return attrgetter(path)(config)


def paths_in(text: str) -> list[str]:
    """Return the dotted paths of the settings in a configuration, in their order."""
    known = {setting.path for setting in settings()}

    def below(section: dict[str, object], prefix: str) -> Iterator[str]:
        for name, value in section.items():
            path = f"{prefix}{name}"
            if isinstance(value, dict) and path not in known:
                yield from below(value, f"{path}.")
            else:
                yield path

    return [*below(yaml.safe_load(text), "")]


def test_init_writes_the_dozen_settings_that_a_first_study_changes(prism: Prism) -> None:
    prism("init", "study")
    text = Path("study/prism.yaml").read_text()
    assert {*FIRST_SETTINGS} <= {*paths_in(text)}
    assert len(FIRST_SETTINGS) == 12
    world = (ROOT / "configs" / "default.yaml").read_text(encoding="utf-8")
    assert load_config(text) == load_config(world) != Config()
    assert {*paths_in(text)} == {*FIRST_SETTINGS} | {
        path for path in map(attrgetter("path"), settings()) if read(path, load_config(text)) != read(path, Config())
    }
    assert "`prism init --all DIR` writes them all" in text
    assert "docs/settings.md" in text


@pytest.mark.slow
def test_what_init_writes_gives_the_digest_of_the_readme(prism: Prism) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    prism("init", "study")
    assert f"digest {prism('run', 'study/prism.yaml', '--quiet').out}" in readme


@pytest.mark.parametrize("domain", DOMAINS)
def test_init_writes_all_settings_of_each_domain_on_demand(domain: str, prism: Prism) -> None:
    few, every = (prism("init", name, "--domain", domain, *more) for name, more in (("few", ()), ("all", ("--all",))))
    assert (few.code, every.code, every.out) == (0, 0, "wrote all/prism.yaml\nnext: prism run all/prism.yaml\n")
    assert prism("validate", "all/prism.yaml").code == 0
    texts = [Path(f"{name}/prism.yaml").read_text() for name in ("few", "all")]
    assert load_config(texts[0]) == load_config(texts[1])
    assert set(paths_in(texts[0])) < set(paths_in(texts[1]))
    assert all(max(map(len, text.splitlines())) <= STARTER_WIDTH for text in texts)


def test_all_settings_of_people_are_all_there_are(prism: Prism) -> None:
    prism("init", "study", "--all")
    assert paths_in(Path("study/prism.yaml").read_text()) == [setting.path for setting in settings()]


@pytest.mark.parametrize("other", [("--example", "economy"), ("--template", "domain")], ids=" ".join)
def test_all_settings_are_those_of_a_domain(other: tuple[str, str], prism: Prism) -> None:
    ended = prism("init", "study", "--all", *other)
    assert ended.code == 2
    assert "--all writes every setting of a domain" in ended.err
    assert not Path("study").exists()


@pytest.mark.parametrize("more", [(), ("--all",)], ids=["first", "all"])
def test_init_of_an_economy_says_which_settings_are_not_at_their_default(more: tuple[str, ...], prism: Prism) -> None:
    prism("init", "study", "--domain", "economy", *more)
    text = Path("study/prism.yaml").read_text()
    chosen, default = load_config(text), Config()
    changed = {setting.path for setting in settings() if read(setting.path, chosen) != read(setting.path, default)}
    noted = [
        after.split(":")[0].strip() for line, after in pairwise(text.splitlines()) if "# not the default, " in line
    ]
    assert sorted(noted) == sorted(path.rpartition(".")[2] for path in changed)
    assert {path: read(path, chosen) for path in changed} == {
        "simulation.domain": "economy",
        "simulation.rounds": 40,
        "simulation.ticks_per_round": 1,
        "simulation.tick_seconds": 7_889_400.0,
        "oracle.deadline_s": 600.0,
        "llm.num_ctx": 4096,
        "economy.macro.gap_shock": 0.82,
        "economy.macro.inflation_shock": 2.1,
        "economy.macro.unemployment_shock": 0.24,
        "economy.taylor.smoothing": 0.8,
    }


def test_all_settings_of_an_economy_have_none_of_people(prism: Prism) -> None:
    prism("init", "study", "--domain", "economy", "--all")
    written = yaml.safe_load(Path("study/prism.yaml").read_text())
    assert list(written) == ["simulation", "oracle", "llm", "economy", "run", "metrics"]
    assert list(written["oracle"])[-1] == "sharing", "the coefficients of people's choices are left out"


def test_init_leaves_an_existing_file_alone(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "prism.yaml").write_text("mine")
    ended = prism("init", ".")
    assert (ended.code, ended.err) == (2, "prism: prism.yaml: exists already and was left as it is\n")
    assert (tmp_path / "prism.yaml").read_text() == "mine"


def test_init_leaves_a_file_alone_that_is_where_the_directory_should_be(prism: Prism) -> None:
    ended = prism("init", "small.yaml")
    assert (ended.code, ended.err) == (2, "prism: small.yaml: exists already and was left as it is\n")


def test_init_lists_the_examples(prism: Prism) -> None:
    lines = prism("init", "--list").out.splitlines()
    assert [line.split()[0] for line in lines] == [*examples(), *studies()]
    assert "experiments/feed" in studies()
    assert lines[0].endswith("2,000 made-up people on a social network, 50 rounds, an interest feed")
    assert not Path("default").exists()


@catalogue("name", examples())
def test_init_writes_each_example_into_a_directory_of_its_name(name: str, prism: Prism) -> None:
    ended = prism("init", "--example", name)
    assert ended.code == 0
    assert ended.out.startswith(f"wrote {name}/prism.yaml\n")
    assert ended.out.endswith(f"next: prism run {name}/prism.yaml\n")
    if name == "higgs":
        told = prism("validate", "higgs/prism.yaml")
        assert told.err.startswith(
            "prism: higgs/prism.yaml:11: population.graph.path: higgs-social_network.txt.gz: no such file"
        )
        Path("higgs/higgs-social_network.txt.gz").write_bytes(gzip.compress(b"0 1\n1 2\n"))  # which one fetches
    assert prism("validate", f"{name}/prism.yaml").code == 0


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
    assert prism("run", "rates/prism.yaml", "--quiet").out == "4817b74cf6d6674df350cb4a7b88baff\n"
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


def test_an_example_and_a_domain_exclude_each_other(prism: Prism) -> None:
    ended = prism("init", "--example", "economy", "--domain", "economy")
    assert ended.code == 2
    assert "exclude each other" in ended.err


def test_init_without_a_directory_makes_one_of_the_domains_name(prism: Prism) -> None:
    assert prism("init").out == "wrote social/prism.yaml\nnext: prism run social/prism.yaml\n"
    assert prism("init", "--domain", "economy").out.startswith("wrote economy/prism.yaml\n")
