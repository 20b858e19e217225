"""The code that decides a run, as a hash of its files; and code and settings now, against those that it began with."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

import prism
from actors.core.errors import RunDirectoryError
from actors.factory.domains import BuiltDomain, own_code
from actors.factory.own_code import OwnCode, sources_below, sources_of, sources_sha256, unknown_code
from actors.store.journal import METRICS_SECTION, NOT_IN_HEADER, Header
from actors.store.manifest import CONFIG, Manifest, read_manifest
from actors.store.run import read_resolved
from prism.config import Config
from prism.config.interventions import PLACE as INTERVENTIONS
from prism.config.yaml_text import flat
from prism.errors import PrismError

ROOMS = ("core", "factory", "oracle", "runtime")
"""The rooms of `actors` that, with `prism`, decide the content of a tick. The others keep it or show it."""


@cache
def code_sha256() -> str:
    """Return the SHA-256 over the files of `prism` and of the `ROOMS` of `actors`."""
    return sources_sha256(deciding_sources())


def deciding_sources() -> dict[str, bytes]:
    """Return `{file name: source}` of the code that decides a run: Python, and charts."""
    package, rooms = Path(prism.__path__[0]), Path(__file__).parents[1]
    sources = dict(sources_below(package, package.parent))
    for room in ROOMS:
        sources |= sources_below(rooms / room, rooms.parent)
    return sources


OWN_PACKAGE = "prism-sim"
PACKAGES = (OWN_PACKAGE, "anyio", "igraph", "msgspec", "numpy", "xxhash")
"""The packages whose versions could change a result."""


def manifest_of(config: Config, inputs: dict[str, str], domain_code: tuple[Path, ...] = ()) -> Manifest:
    """Return the manifest of a new run in this process. `domain_code`: the files of the code of its own domain."""
    return Manifest(
        python=platform.python_version(),
        platform=platform.platform(),
        packages={package: version(package) for package in PACKAGES},
        code=code_sha256(),
        domain_code=sources_sha256(sources_of(domain_code)) if domain_code else "",
        seed=config.simulation.seed,
        inputs=inputs,
    )


def unknown_code_of(path: Path, overrides: Sequence[str] = ()) -> list[OwnCode]:
    """Return the code that running a directory's run again with these settings would run, and that is new here.

    No code is run here. Code that cannot be read or found is left out: it cannot run, and a run of it says why.
    """
    names, found = [CONFIG], dict[str, OwnCode]()
    with suppress(PrismError):
        names += [fork.config for fork in read_manifest(path).forks]
    for name in names:
        with suppress(PrismError):  # an error of this file alone: the code that other files name is still asked about
            config = read_resolved(path / name, overrides if name == CONFIG else ())
            found |= {code.key: code for code in own_code(config)}
    return unknown_code(found.values())


SAFE = ("llm.", "run.", "oracle.")  # settings that change how a run is executed, and nothing that it has committed

UNSAFE = (
    *("llm.memory", "run.record_feeds", "run.restart_intensity", "run.restart_period_ticks"),
    *("oracle.backend", "oracle.choice.", "oracle.mode"),
)
"""Exceptions from `SAFE`: another value would change the ticks that are recorded."""

PAST = ("population.", "simulation.")  # settings that even a fork may not change: the people, and the passing of time

CODE_SETTINGS = ("domain_path",)
"""Settings of section `simulation` that say where the code is. Its content is checked by its hash."""

_MISSING = object()


def refuse_unless_compatible(
    path: Path, header: Header, manifest: Manifest, config: Config, built: BuiltDomain, *, accept_settings: bool
) -> Manifest:
    """Return the manifest of the resumed run, if its settings and input files allow it. Its code is checked elsewhere.

    If not, a RunDirectoryError names every difference. `accept_settings`: accept those that cannot change the past, now
    and at every later resume.
    """
    settings = list(unaccepted(header, manifest, config))
    risky = [key for key, _ in settings if not key.startswith(SAFE) or key.startswith(UNSAFE)]
    harmless = [change for key, change in settings if key not in risky]
    if risky or (harmless and not accept_settings):
        changes = [*(change for key, change in settings if key in risky), *harmless]
        remedy = "Put it back, or continue anyway with --accept-settings."
        if any(key.startswith(PAST) for key in risky):
            made = "people, time and input files are what made the past"
            remedy = f"Leave out its --set, or put it back in config.yaml or its own file: {made}."
        elif risky:
            remedy = "Put it back, or branch off with `prism fork`."
        raise RunDirectoryError(f"{path}: cannot continue: {'; '.join(changes)}. {remedy}")
    new = manifest_of(config, built.inputs, built.code)
    now = _settings(config)
    return msgspec.structs.replace(
        manifest,
        packages=new.packages,
        code=new.code,
        domain_code=new.domain_code,
        seed=header.seed,
        inputs=header.inputs,
        accepted={key: now.get(key) for key, _ in changed_settings(header, config)},
    )


def unaccepted(header: Header, manifest: Manifest, config: Config) -> Iterator[tuple[str, str]]:
    """Yield the `changed_settings` that were not accepted at an earlier resume."""
    now = _settings(config)
    for key, change in changed_settings(header, config):
        if manifest.accepted.get(key, _MISSING) != now.get(key):
            yield key, change


def changed_settings(header: Header, config: Config) -> Iterator[tuple[str, str]]:
    """Yield `(key, the change in words)` of every setting that differs from the journal's header."""
    now = _settings(config)
    then = {INTERVENTIONS: [], **_settings(header.config)}  # a header without interventions has no key for them
    free = {f"{section}.{name}" for section, names in NOT_IN_HEADER.items() for name in names}
    free |= {f"simulation.{name}" for name in CODE_SETTINGS}
    for key in sorted((now.keys() | then.keys()) - free):
        if not key.startswith(f"{METRICS_SECTION}.") and now.get(key) != then.get(key):
            is_, was = (msgspec.json.encode(each.get(key)).decode() for each in (now, then))
            yield key, f"{key} is {is_}, was {was} when the run began"


def changed_code(before: Manifest, now: Manifest) -> list[str]:
    """Return the differences of code and packages, in words; empty if the code that decides a run is the same.

    Another version of PRISM with the same code is no difference.
    """
    is_same = now.code == before.code
    changes = [
        f"{package} is {now.packages.get(package, 'unknown to this version')}, was {was}"
        for package, was in before.packages.items()
        if now.packages.get(package) != was and not (is_same and package == OWN_PACKAGE)
    ]
    if not is_same:
        changes.append(f"PRISM's code has changed (sha256 {now.code[:12]}, was {before.code[:12]})")
    if now.domain_code != before.domain_code:
        was = f"sha256 {now.domain_code[:12]}, was {before.domain_code[:12]}"
        changes.append(f"the domain's own code has changed ({was})")
    return changes


def _settings(config: Config | dict[str, Any]) -> dict[str, Any]:
    """Return `{dotted path: value}`, with lists in place of tuples, as when it is read from a file."""
    return dict(flat(msgspec.json.decode(msgspec.json.encode(config))))


ASKED = ("oracle.", "llm.")  # the settings that say which oracle is asked, and how


def refuse_other_settings(
    path: Path, overrides: Sequence[str], own: Mapping[str, str], why: str, option: str = "--set"
) -> None:
    """Refuse settings that are not about the oracle which is asked about a recorded run, by a RunDirectoryError.

    `own`: `{setting of an oracle that the command makes: the reason}`; `why`: the reason for settings of the run.
    """
    # The loader of settings says what is wrong with one that has no `=`.
    for key in (override.partition("=")[0].strip() for override in overrides if "=" in override):
        if not key.startswith(ASKED) or key in own:
            raise RunDirectoryError(f"{path}: {option} {key} cannot be set here: {own.get(key, why)}")
