"""What comes with PRISM: found by name from anywhere, and complete in a directory of its own."""

from pathlib import Path

import pytest

from actors.factory.domains import build_domain
from actors.factory.input_files import read_input, with_inputs_beside
from actors.factory.shipped import FOLDER, examples
from prism.config import Config, load_config
from prism.llm.prompt import SHIPPED
from tests.catalogue import catalogue
from tests.paths import ROOT

US = "configs/data/us-macro-quarterly.csv"
NAMES = sorted(path.stem for path in (ROOT / FOLDER).glob("*.yaml"))


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load(path: Path) -> Config:
    return load_config(path.read_text(), str(path), environment={}, overrides=())


def test_every_configuration_of_the_project_is_an_example_and_the_default_is_the_first() -> None:
    assert sorted(examples()) == NAMES
    assert next(iter(examples())) == "default"


@catalogue("name", NAMES)
def test_an_example_written_elsewhere_means_the_same_and_has_its_data_beside_it(name: str, elsewhere: Path) -> None:
    files = examples()[name].files(Path("study"))
    assert next(iter(files)) == Path("study/prism.yaml")
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    written = with_inputs_beside(load(Path("study/prism.yaml")), Path("study"))
    original = load(ROOT / FOLDER / f"{name}.yaml")
    files_of_it = (written.economy.initial.path, written.statechart.file, written.population.posts.file)
    named = {Path(str(name)) for name in files_of_it} - {Path("None")}
    beside = {*files} - {Path("study/prism.yaml"), Path("study/schema.json")}
    assert named <= beside
    if named:
        assert build_domain(written).inputs.keys() - SHIPPED == {str(path) for path in named}
        assert list(build_domain(written).inputs.values()) == list(build_domain(original).inputs.values())
    else:
        assert written == original
        assert not beside
    assert f"{FOLDER}/" not in Path("study/prism.yaml").read_text()


def test_shipped_data_is_found_by_its_name_from_anywhere(elsewhere: Path) -> None:
    source = read_input(US)
    assert (source.name, source.data) == (US, (ROOT / US).read_bytes())


def test_an_input_file_is_looked_up_beside_its_configuration_where_it_is_not_here(elsewhere: Path) -> None:
    Path("study").mkdir()
    for path in ("study/ties.txt", "study/people.csv", "people.csv"):
        Path(path).write_text("")
    text = "population: {profiles: people.csv, graph: {path: ties.txt}}\neconomy: {initial: {path: none.csv}}"
    config = with_inputs_beside(load_config(text, "c", environment={}, overrides=()), Path("study"))
    assert config.population.graph.path == "study/ties.txt"
    assert config.population.profiles == "people.csv"
    assert config.economy.initial.path == "none.csv"
