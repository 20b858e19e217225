"""A domain of one's own, from the name in a configuration to the domain; and each mistake in a line."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from actors import build_domain, read_config, resume, run
from actors.factory.domains import settled
from actors.runs.directory import RunDirectory
from actors.runs.forecast import forecast
from actors.runs.verify import verify_run
from actors.runtime.simulation import Simulation
from actors.store.rounds import ROUNDS, read_rounds
from prism.config import Config
from prism.errors import ConfigError
from tests.catalogue import catalogue
from tests.domains import Crossing, TrafficDomain
from tests.own_domains import CROSSING, DECLARED, Study, path_restored, write_study
from tests.schedules import run_scheduled

HEAD = "from tests.domains import TrafficDomain, Crossing\n"
SOCAIL = "expected social, economy, or module:function for a domain of your own, got 'socail'; did you mean social?"


@pytest.fixture(autouse=True)
def clean_path() -> Iterator[None]:
    with path_restored():
        yield


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return write_study(tmp_path / "study")


def refusal(study: Study, *overrides: str) -> str:
    """The line that refuses a configuration, when it is read or when its domain is built."""
    with pytest.raises(ConfigError) as caught:
        build_domain(read_config(study.config, overrides, environment={}))
    line = str(caught.value)
    assert "\n" not in line
    return line.replace(study.module, "crossing").replace(str(study.path), "study")


def refusal_of(tmp_path: Path, source: str) -> str:
    return refusal(write_study(tmp_path / "study", source))


def test_the_module_beside_the_configuration_is_found_and_its_directory_is_kept(study: Study) -> None:
    config = read_config(study.config, environment={})
    assert (config.simulation.domain_path, config.domain) == (str(study.path), {"lights": 3})
    built = build_domain(config)
    assert isinstance(built.domain, TrafficDomain)
    assert (built.domain.size, built.code) == (3, (study.file,))
    # The settings come from the file, the environment and the command line.
    study.write_config("domain: {lights: 4}\n")
    assert read_config(study.config, environment={}).domain == {"lights": 4}
    assert read_config(study.config, environment={"PRISM_DOMAIN__LIGHTS": "5"}).domain == {"lights": 5}
    config = read_config(study.config, ["domain.lights=6"], environment={"PRISM_DOMAIN__LIGHTS": "5"})
    assert build_domain(config).domain.size == 6


def test_a_module_elsewhere_is_found_in_the_working_directory_or_by_a_setting(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere.yaml"
    elsewhere.write_text(study.config.read_text())
    with monkeypatch.context() as there:
        there.chdir(study.path)
        assert read_config(elsewhere, environment={}).simulation.domain_path == str(study.path)
    (study.path / "code").mkdir()
    study.file.rename(study.path / "code" / study.file.name)
    for name in ("code", f"{tmp_path}/study/code"):
        config = read_config(study.config, [f"simulation.domain_path={name}"], environment={})
        assert config.simulation.domain_path == str(study.path / "code")
    assert build_domain(config).domain.size == 3


def test_a_configuration_made_in_python_names_a_module_and_its_settings(study: Study) -> None:
    config = Config(
        simulation={"domain": f"{study.module}:build", "domain_path": str(study.path)},  # type: ignore[arg-type]
        domain={"lights": 5},
    )
    assert build_domain(config).domain.size == 5
    assert settled(config) == config
    default = settled(Config(simulation=config.simulation))
    assert default.domain == {"lights": 3}
    own = sys.modules[study.module].Settings(lights=7)
    assert Config(simulation=config.simulation, domain=own).domain == {"lights": 7}


BANS = f"""\
{CROSSING}
from tests.domains import Crossing


class Banned(Crossing):
    banned = ()

    def intervene(self, tick, intervention):
        self.banned = intervention.silence or self.banned

    def triggers(self, tick):
        return [trigger for trigger in super().triggers(tick) if trigger.agent not in self.banned]


def with_bans(settings: Settings) -> TrafficDomain:
    made = TrafficDomain(settings.lights)
    made.world = Banned(settings.lights)
    return made
"""


def test_a_world_of_ones_own_takes_part_in_interventions(tmp_path: Path) -> None:
    study = write_study(tmp_path / "study", BANS)
    study.write_config("interventions: [{tick: 7, silence: [1]}]\n", f"{study.module}:with_bans")
    config = read_config(study.config, environment={})
    simulation = Simulation(config, build_domain(config).domain)
    run_scheduled(0, simulation.run)
    world = simulation.domain.world
    assert isinstance(world, Crossing)
    assert {update.agent for update in world.updates if update.tick >= 7} == {0, 2}
    assert {update.agent for update in world.updates if update.tick < 7} == {0, 1, 2}


@catalogue(
    ("function", "given", "line"),
    [
        ("build", "{tick: 7, silence: [1]}", ": the world of crossing:build, a Crossing, takes none: it has no method"),
        ("with_bans", "{tick: 7, set: {domain.light: 3}}", "[0].set.domain.light: is no setting of the domain"),
        ("with_bans", "{tick: 7, set: {domain.lights: 0}}", "[0].set.domain.lights: expected int >= 1, got 0"),
        ("with_bans", "{tick: 30, silence: [1]}", "[0].tick: expected an intervention before the end of the run, at"),
    ],
)
def test_interventions_that_a_domain_of_ones_own_does_not_take_are_refused(
    function: str, given: str, line: str, tmp_path: Path
) -> None:
    study = write_study(tmp_path / "study", BANS)
    study.write_config(f"interventions: [{given}]\n", f"{study.module}:{function}")
    place, _, told = refusal(study).partition(": interventions")
    assert told.startswith(line)
    assert place in {"configuration", "study/study.yaml:2"}


@catalogue(
    ("override", "line"),
    [
        ("domain.ligts=3", "--set: domain.ligts: unknown key; did you mean lights?"),
        ("domain.lights=0", "--set: domain.lights: expected int >= 1, got 0"),
        ("simulation.domain=socail", f"--set: simulation.domain: {SOCAIL}"),
        ("simulation.domain=__main__:build", "--set: simulation.domain: a domain in __main__ cannot be found again; "),
        ("simulation.domain=sys:exit", "--set: simulation.domain: the module 'sys' has no Python source in a file, "),
    ],
)
def test_a_wrong_setting_is_named_with_its_place(override: str, line: str, study: Study) -> None:
    study.write_config("domain:\n  lights: 4\n")
    assert refusal(study, override).startswith(line)


CHECK = f"""{DECLARED}

    def __post_init__(self):
        super().__post_init__()
        if self.lights % 2:
            raise ERROR'expected an even number of lights')
"""


@catalogue(
    ("declared", "text", "line"),
    [
        ("int", "", "study/study.yaml: domain.lights: is missing; expected int"),
        (CHECK.replace("ERROR", "ValueError("), "5", "study/study.yaml:2: domain: expected an even number of lights"),
        (
            CHECK.replace("ERROR", "self.refused('lights', "),
            "5",
            "study/study.yaml:3: domain.lights: expected an even number of lights",
        ),
    ],
)
def test_a_setting_without_a_default_and_a_check_of_the_domain_s_own_are_told_by_their_key(
    declared: str, text: str, line: str, tmp_path: Path
) -> None:
    study = write_study(tmp_path / "study", CROSSING.replace(DECLARED, declared))
    study.write_config(f"domain:\n  lights: {text}\n" if text else "")
    assert refusal(study) == line
    assert build_domain(read_config(study.config, ["domain.lights=2"], environment={})).domain.size == 2


@catalogue(
    ("source", "problem"),
    [
        ("import nothing_like_this\n", "crossing cannot be imported: ModuleNotFoundError: No module named 'nothing_"),
        ("def biuld(): ...\n", "crossing has no 'build'; did you mean biuld?"),
        ("build = 3\n", "crossing:build is 3; expected a function that returns a domain"),
        ("def build(seed): ...\n", "crossing:build takes an argument 'seed'; expected config, settings, inputs, each"),
        ("def build(settings: dict): ...\n", "the argument settings of crossing:build needs the class of the settings"),
        (
            "def build(settings: 'Set'): ...\n",
            "the annotations of crossing:build cannot be read: NameError: name 'Set'",
        ),
        (
            "def build():\n    1 / 0\n",
            "crossing:build raised ZeroDivisionError: division by zero (study/crossing.py:2)",
        ),
        ("def build(): ...\n", "crossing:build returned null, which is no domain: it has no size"),
        (f"{CROSSING}\n\nSHOW = 3\n", "crossing.SHOW is 3; expected a subclass of prism.show.Show"),
        (
            f"{HEAD}def build():\n    made = TrafficDomain()\n    made.size = 0\n    return made\n",
            "crossing:build returned a TrafficDomain, which is no domain: its size is 0; expected an int >= 1",
        ),
        (
            f"{HEAD}class Odd(TrafficDomain):\n    oracle = lambda self: None\nbuild = lambda: Odd()\n",
            "crossing:build returned a Odd, which is no domain: its oracle() returns null; expected a prism.",
        ),
    ],
)
def test_a_domain_that_cannot_be_used_is_refused_in_a_line(source: str, problem: str, tmp_path: Path) -> None:
    line = refusal_of(tmp_path, source)
    place, _, told = line.partition("simulation.domain: ")
    assert told.startswith(problem)
    assert place in {"study/study.yaml:1: ", "run: "}


def test_a_namesake_of_a_module_that_is_imported_already_is_refused(study: Study, tmp_path: Path) -> None:
    build_domain(read_config(study.config, environment={}))
    other = Study(path=tmp_path / "other", module=study.module)
    other.path.mkdir()
    other.write_config()
    other.file.write_text(CROSSING)
    assert build_domain(read_config(other.config, environment={})).domain.size == 3  # the same code is the same domain
    other.file.write_text(f"{CROSSING}\nX = 1\n")
    assert "; do it in a process of its own" in refusal(other)


ENTRY = "[prism.domains]\n{name} = {module}:build\n"


def offer(directory: Path, name: str, study: Study, package: str = "crossing") -> None:
    """Install a package's entry point into a directory."""
    info = directory / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY.format(name=name, module=study.module))


def test_an_installed_domain_is_found_by_its_name(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(study.path, "lights", study)
    monkeypatch.syspath_prepend(study.path)
    study.write_config("domain: {lights: 2}\n", domain="lights")
    config = read_config(study.config, environment={})
    assert (config.simulation.domain, config.simulation.domain_path) == (f"{study.module}:build", str(study.path))
    assert build_domain(config).domain.size == 2
    assert "expected social, economy, lights, or module:function" in refusal(study, "simulation.domain=light")
    assert refusal(study, "simulation.domain=light").endswith("; did you mean lights?")
    other = write_study(tmp_path / "other")
    offer(other.path, "lights", other, "another")
    monkeypatch.syspath_prepend(other.path)
    assert "another and crossing both install a domain called lights; name one as module:function" in refusal(study)


COUNTS_LATER = f"""{HEAD}
class Later(Crossing):
    def totals(self):
        latest = max(self.since)
        return super().totals() | ({{"latest": latest}} if latest > 12 else {{}})


def build(config):
    domain = TrafficDomain(3)
    domain.world = Later(3)
    return domain
"""


def test_what_a_world_counts_only_later_is_a_column_of_every_round(tmp_path: Path) -> None:
    study = write_study(tmp_path / "study", COUNTS_LATER)
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    run(study.config, out=whole)
    run(study.config, ticks=10, out=resumed)
    assert "latest" not in read_rounds(resumed)
    resume(resumed, ticks=30, trust=True)
    rounds = read_rounds(whole)
    assert rounds["round"] == [1, 2, 3]
    assert [latest > 12 for latest in rounds["latest"]] == [False, True, True]
    assert (resumed / ROUNDS).read_bytes() == (whole / ROUNDS).read_bytes()
    assert verify_run(RunDirectory(whole)).is_good


def test_the_warnings_of_a_rehearsal_go_to_standard_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def warns(*_: object) -> None:
        structlog.get_logger().warning("guard_raised")

    config = read_config(write_study(tmp_path / "study").config, environment={})
    monkeypatch.setattr(Simulation, "run", warns)
    forecast(config)
    said = capsys.readouterr()
    assert ("guard_raised" in said.err, said.out) == (True, "")
