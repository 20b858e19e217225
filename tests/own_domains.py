"""Domains of one's own for tests: modules that are written to a directory, each under a name that no other test has."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import msgspec

from actors.factory.own_code import imported_as, own_finder

DECLARED = 'int = setting(3, "number of lights", ge=1)'
CROSSING = f"""\
from prism.config import Config, Section, setting
from tests.domains import TrafficDomain


class Settings(Section):
    lights: {DECLARED}


def build(config: Config, settings: Settings) -> TrafficDomain:
    return TrafficDomain(settings.lights)
"""

_numbers = count(1)


class Study(msgspec.Struct, frozen=True, kw_only=True):
    """A directory with a module and a configuration that names it."""

    path: Path
    module: str

    @property
    def file(self) -> Path:
        return self.path / f"{self.module}.py"

    @property
    def config(self) -> Path:
        return self.path / "study.yaml"

    def write_config(self, text: str = "", domain: str | None = None) -> Path:
        head = f"simulation: {{domain: {domain or f'{self.module}:build'}, rounds: 3, ticks_per_round: 10}}\n"
        self.config.write_text(head + text)
        return self.config


def write_study(path: Path, source: str = CROSSING) -> Study:
    """Write a module, with a name of its own, and a configuration beside it."""
    study = Study(path=path, module=f"crossing_{next(_numbers)}")
    path.mkdir(parents=True, exist_ok=True)
    study.file.write_text(source)
    study.write_config()
    return study


@contextmanager
def path_restored() -> Iterator[None]:
    """Restore Python's path, and forget the modules of studies, as if the block had been a process of its own."""
    path, places, known = list(sys.path), dict(own_finder.places), set(sys.modules)
    try:
        yield
    finally:
        sys.path[:] = path
        own_finder.places = places
        for name in set(sys.modules) - known:
            if name.startswith("crossing_"):
                del sys.modules[name]
                imported_as.pop(name, None)
