"""Whether a run may go on: what it is made of now, against what it was made of when it began."""

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
"""Settings that change how a run is carried out, and nothing that it has committed."""

UNSAFE = (
    "run.restart_intensity",
    "run.restart_period_ticks",
    "oracle.backend",
    "oracle.choice.",
    "oracle.lookahead_ticks",
    "oracle.mode",
)
"""Exceptions: the past would come out differently with another value."""

PAST = ("population.", "simulation.")
"""Settings that made the past: who there is, and how time passes. Not even a fork may have others."""

PUT_IT_BACK = "Put it back, in config.yaml or its own file: people, time and input files are what made the past."
BRANCH_OFF = "Put it back, or branch off with `prism fork`."
_UNSEEN = object()


def refuse_unless_compatible(
    path: Path, header: Header, manifest: Manifest, config: Config, inputs: dict[str, str], *, force: bool
) -> Manifest:
    """The manifest of the run as it goes on, if it may.

    Args:
        force: let pass what cannot change the past, now and whenever it is resumed again.

    Raises:
        ResumeRefusedError: it may not; the message names every difference.
    """
    settings = list(unaccepted(header, manifest, config))
    files = [
        f"{name}: has changed since the run began (sha256 {sha256[:12]}, was {header.inputs[name][:12]})"
        for name, sha256 in inputs.items()
        if name in header.inputs and header.inputs[name] != sha256
    ]
    harmless = [told for key, told in settings if is_safe(key)] + _changed_code(manifest, config, inputs)
    risky = [key for key, _ in settings if not is_safe(key)]
    if risky or files:
        all_told = [*(told for key, told in settings if key in risky), *files, *harmless]
        is_past = bool(files) or any(key.startswith(PAST) for key in risky)
        raise ResumeRefusedError(path, all_told, PUT_IT_BACK if is_past else BRANCH_OFF)
    if harmless and not force:
        raise ResumeRefusedError(path, harmless, "Put it back, or go on all the same with --force.")
    made_of = manifest_of(config, inputs)
    now = dict(_flat(msgspec.to_builtins(config), ""))
    return msgspec.structs.replace(
        manifest,
        packages=made_of.packages,
        code=made_of.code,
        seed=header.seed,
        inputs=header.inputs,
        accepted={key: now.get(key) for key, _ in changed_settings(header, config)},
    )


def unaccepted(header: Header, manifest: Manifest, config: Config) -> Iterator[tuple[str, str]]:
    """The `changed_settings` that were not let pass when the run was resumed before."""
    now = dict(_flat(msgspec.to_builtins(config), ""))
    for key, told in changed_settings(header, config):
        if manifest.accepted.get(key, _UNSEEN) != now.get(key):
            yield key, told


def changed_settings(header: Header, config: Config) -> Iterator[tuple[str, str]]:
    """`(key, what changed in words)` of every setting that is not what the journal's header says."""
    now = dict(_flat(msgspec.to_builtins(config), ""))
    then = dict(_flat(header.config, ""))
    for key in sorted(now.keys() | then.keys()):
        if key.startswith(f"{METRICS_SECTION}."):
            continue
        if key not in {f"simulation.{name}" for name in LENGTH_SETTINGS} and now.get(key) != then.get(key):
            yield key, f"{key} is {_shown(now.get(key))}, was {_shown(then.get(key))} when the run began"


def is_safe(key: str) -> bool:
    """Whether a setting may change in the middle of a run."""
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


def _shown(value: object) -> str:
    """A value as a configuration file has it."""
    return msgspec.json.encode(value).decode()


def _flat(settings: dict[str, Any], section: str) -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        key = f"{section}{name}"
        if isinstance(value, dict):
            yield from _flat(value, f"{key}.")
        else:
            yield key, list(value) if isinstance(value, tuple) else value
