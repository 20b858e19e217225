"""The check before a resume: settings, input files and code now, against those that the run began with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from actors.core.errors import ResumeRefusedError
from actors.persistence.journal import LENGTH_SETTINGS, METRICS_SECTION, Header
from actors.runs.manifest import Manifest, manifest_of
from prism.config import Config

SAFE = ("llm.", "run.", "oracle.")
"""Settings that change how a run is executed, and nothing that it has committed."""

UNSAFE = (
    "run.restart_intensity",
    "run.restart_period_ticks",
    "oracle.backend",
    "oracle.choice.",
    "oracle.lookahead_ticks",
    "oracle.mode",
)
"""Exceptions from `SAFE`: another value would change the ticks that are recorded."""

PAST = ("population.", "simulation.")
"""Settings that even a fork may not change: the people, and the passing of time."""

PUT_IT_BACK = (
    "Leave out its --set, or put it back in config.yaml or its own file: "
    "people, time and input files are what made the past."
)
BRANCH_OFF = "Put it back, or branch off with `prism fork`."
_MISSING = object()


def refuse_unless_compatible(
    path: Path, header: Header, manifest: Manifest, config: Config, inputs: dict[str, str], *, force: bool
) -> Manifest:
    """Return the manifest of the resumed run, if it may be resumed.

    Args:
        force: accept differences that cannot change the past, now and at every later resume.

    Raises:
        ResumeRefusedError: it may not be resumed; the message names every difference.
    """
    settings = list(unaccepted(header, manifest, config))
    files = [
        f"{name}: has changed since the run began (sha256 {sha256[:12]}, was {header.inputs[name][:12]})"
        for name, sha256 in inputs.items()
        if name in header.inputs and header.inputs[name] != sha256
    ]
    harmless = [change for key, change in settings if is_safe(key)] + _changed_code(manifest, config, inputs)
    risky = [key for key, _ in settings if not is_safe(key)]
    if risky or files:
        changes = [*(change for key, change in settings if key in risky), *files, *harmless]
        is_past = bool(files) or any(key.startswith(PAST) for key in risky)
        raise ResumeRefusedError(path, changes, PUT_IT_BACK if is_past else BRANCH_OFF)
    if harmless and not force:
        raise ResumeRefusedError(path, harmless, "Put it back, or continue anyway with --force.")
    new = manifest_of(config, inputs)
    now = dict(_flat(msgspec.to_builtins(config), ""))
    return msgspec.structs.replace(
        manifest,
        packages=new.packages,
        code=new.code,
        seed=header.seed,
        inputs=header.inputs,
        accepted={key: now.get(key) for key, _ in changed_settings(header, config)},
    )


def unaccepted(header: Header, manifest: Manifest, config: Config) -> Iterator[tuple[str, str]]:
    """Yield the `changed_settings` that were not accepted at an earlier resume."""
    now = dict(_flat(msgspec.to_builtins(config), ""))
    for key, change in changed_settings(header, config):
        if manifest.accepted.get(key, _MISSING) != now.get(key):
            yield key, change


def changed_settings(header: Header, config: Config) -> Iterator[tuple[str, str]]:
    """Yield `(key, the change in words)` of every setting that differs from the journal's header."""
    now = dict(_flat(msgspec.to_builtins(config), ""))
    then = dict(_flat(header.config, ""))
    for key in sorted(now.keys() | then.keys()):
        if key.startswith(f"{METRICS_SECTION}."):
            continue
        if key not in {f"simulation.{name}" for name in LENGTH_SETTINGS} and now.get(key) != then.get(key):
            yield key, f"{key} is {_as_json(now.get(key))}, was {_as_json(then.get(key))} when the run began"


def is_safe(key: str) -> bool:
    """Return whether a setting may change in the middle of a run."""
    return key.startswith(SAFE) and not key.startswith(UNSAFE)


def _changed_code(manifest: Manifest, config: Config, inputs: dict[str, str]) -> list[str]:
    now = manifest_of(config, inputs)
    changes = [
        f"{package} is {now.packages.get(package, 'unknown to this version')}, was {was}"
        for package, was in manifest.packages.items()
        if now.packages.get(package) != was
    ]
    if now.code != manifest.code:
        changes.append(f"PRISM's code has changed (sha256 {now.code[:12]}, was {manifest.code[:12]})")
    return changes


def _as_json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _flat(settings: dict[str, Any], section: str) -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        key = f"{section}{name}"
        if isinstance(value, dict):
            yield from _flat(value, f"{key}.")
        else:
            yield key, list(value) if isinstance(value, tuple) else value
