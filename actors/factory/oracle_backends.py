"""The oracle backends that a configuration can name, opened for a run and closed after it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, closing
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import anyio
import msgspec
import structlog
from msgspec.structs import asdict, replace

from actors.core.files import sha256_of
from actors.factory.input_files import BRING_ALONG, kept_sha256, locate_input
from prism.config import Config, ModelsConfig
from prism.config.config import UNCALIBRATED
from prism.config.yaml_text import flat
from prism.errors import ConfigError, OracleUnavailableError
from prism.llm import Health, LanguageModel, LLMFailureException, Tape, TapedModel
from prism.llm.headers import GATEWAY
from prism.llm.port import make_backend
from prism.llm.tape import TapeError, check_place
from prism.quoting import printable
from prism.statechart import Oracle

log = structlog.get_logger(__name__)

NOT_COMPARED = ("metrics.", "run.", "simulation.seed", "simulation.domain_path")
"""The beginnings of settings that do not make another configuration: they change results by chance, or not at all."""
NAMES_SHOWN = 3
TAPE = "tape.sqlite"
LOADING = "loading"  # the reason of a failure: the server has not loaded the model yet
LOADING_EVERY_S = 2.0  # the time between two checks of a server that is loading the model at the start


class OpenOracle(NamedTuple):
    """An oracle ready to be asked, with a description of it; `health` is None for the embedded oracle."""

    oracle: Oracle[Any]
    description: str
    health: Health | None

    @property
    def dialect(self) -> str:
        """The way to tell the model's server a schema; empty without a server."""
        return "" if self.health is None else self.health.dialect


def make_model(config: Config) -> LanguageModel:
    """Return a client of the model that the configuration names. It sends nothing yet.

    The API key comes from the environment, unless the model is asked through a gateway.
    """
    llm = config.llm
    if config.simulation.domain == "economy":
        llm = replace(llm, method="json")  # its answers are no options, so nobody would ask for probabilities
    return make_backend(config.oracle.backend, llm, os.environ)


def check_oracle(config: Config) -> None:
    """Refuse an address, a secret or a tape that cannot be used. Asks no server and makes no file."""
    if config.oracle.backend == "choice":
        return
    if GATEWAY.get() is None:
        from prism.llm.model_client import address_of  # noqa: PLC0415  # see make_model

        address_of(config.llm, os.environ)
    if config.oracle.tape_path is None:
        return
    path = tape_path(config, None)
    if config.oracle.tape == "replay":
        with closing(Tape(path, "replay")) as tape:
            tape.required_header()
    elif config.oracle.tape == "record":
        check_place(path)


@asynccontextmanager
async def open_oracle(
    config: Config,
    make: Callable[..., Oracle[Any]],
    directory: Path | None,
    oracle: Oracle[Any] | None = None,
    on_wait: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[OpenOracle]:
    """Provide the oracle of a run, checked and warmed up, and close it at the end.

    Args:
        make: as `Domain.oracle`: returns the oracle that asks a model, or without one the embedded oracle.
        directory: the run's directory; a tape is recorded there unless the configuration names another path. None for
            a run in memory.
    """
    if oracle is not None:
        yield OpenOracle(oracle, type(oracle).__qualname__, None)
        return
    if config.oracle.backend == "choice":
        embedded = make()
        yield OpenOracle(embedded, _labelled(embedded.description, config), None)
        return
    mode = config.oracle.tape
    async with AsyncExitStack() as stack:
        asked = await stack.enter_async_context(aclosing(make_model(config)))
        if mode != "off":
            taped = TapedModel(asked, Tape(tape_path(config, directory), mode), mode)
            asked = await stack.enter_async_context(aclosing(taped))
        health = await _checked(config, asked, on_wait)
        # The description for the start-up line: the model, its server and how it is asked.
        where = f"from tape {config.oracle.tape_path}" if mode == "replay" else f"at {config.llm.host}"
        form = f"{health.dialect}{', recorded' if mode == 'record' else ''}"
        form += f"; by {config.llm.by.attribute}" if config.llm.by.attribute else ""
        models = ", ".join((health.model, *config.llm.models[1:]))
        text = f"{models} by {health.server} {where}, {form}; {health.note}".rstrip("; ")
        yield OpenOracle(make(asked), _labelled(text, config), health)


async def check_models(config: Config, model: LanguageModel) -> Health:
    """Return the health of `llm.model`; check the models of `llm.by`, too, unless a tape has done that."""
    health = await model.check()
    for name in config.llm.models[1:] if config.oracle.tape != "replay" else ():
        alone = replace(config, llm=replace(config.llm, model=name, by=ModelsConfig()))
        async with aclosing(make_model(alone)) as other:
            note = (await other.check()).note
            mine, theirs = asdict(replace(model.identity, model=name)), asdict(other.identity)
            if not health.note.startswith(note):  # recording on a tape adds to its note
                mine["note"], theirs["note"] = health.note, note
            if differing := [
                f"{key} is {theirs[key]!r}, not {own!r}" for key, own in mine.items() if theirs[key] != own
            ]:
                problem = f"{name} is asked otherwise than {config.llm.model}: {', '.join(differing)}"
                need = "all models of a run need to be asked in the same way: llm.method=json leaves out probabilities"
                raise OracleUnavailableError(f"llm.by.models: {problem}; {need}")
    return health


async def _checked(config: Config, model: LanguageModel, on_wait: Callable[[str], None]) -> Health:
    """Return a model's health. While the server is loading it, wait for as long as for a server that is away."""
    oracle = config.oracle
    waits = oracle.mode == "pace" and oracle.on_outage == "wait"
    last = anyio.current_time() + (oracle.outage_patience_s if waits else 0.0)
    while True:
        try:
            return await check_models(config, model)
        except OracleUnavailableError as error:
            cause = error.__cause__
            if not isinstance(cause, LLMFailureException) or cause.reason != LOADING or anyio.current_time() >= last:
                raise
            on_wait(LOADING)
            log.info("oracle_loading", detail=cause.detail)
        await anyio.sleep(LOADING_EVERY_S)


def tape_path(config: Config, directory: Path | None) -> Path:
    if (name := config.oracle.tape_path) is not None:
        path, digest = locate_input(name), kept_sha256(name)
        if digest is not None and config.oracle.tape == "replay" and path.is_file() and sha256_of(path) != digest:
            raise TapeError(path, f"is not what the run has kept; {BRING_ALONG}")
        return path
    if directory is None:
        problem = "a run in memory has no directory for its tape: expected a file, got null"
        raise ConfigError("run", problem, key="oracle.tape_path")
    return directory / TAPE


def _labelled(description: str, config: Config) -> str:
    """Return the description, with the data that the settings are calibrated on, if they are calibrated."""
    label = calibration_label(config)
    return description if label is None else f"{description.removesuffix(UNCALIBRATED)}; {label}"


def calibration_label(config: Config) -> str | None:
    """Return what the settings are calibrated on, and what was changed since, in words; None if they are not."""
    calibration = config.run.calibration
    if calibration.data is None:
        return None
    label = f"calibrated on {printable(calibration.data)}"
    label += "" if calibration.holdout is None else f", holdout {calibration.holdout:.3g}"
    label += f" (doubtful: {printable(calibration.doubts)})" if calibration.doubts else ""
    # A file counts by its name, wherever it is.
    fitted, found = _fitted(Config()) | calibration.settings, _fitted(config)
    changed = [name for name in {**fitted, **found} if _named(fitted.get(name)) != _named(found.get(name))]
    if not changed:
        return label
    more = f" and {len(changed) - NAMES_SHOWN} more" if len(changed) > NAMES_SHOWN else ""
    return f"{label}, but {', '.join(changed[:NAMES_SHOWN])}{more} {'was' if len(changed) == 1 else 'were'} changed"


def fitted_settings(config: Config) -> dict[str, Any]:
    """Return `{setting: value}` of non-default settings that a fit may depend on; None for a key that is gone."""
    default, found = _fitted(Config()), _fitted(config)
    return {name: found.get(name) for name in {**default, **found} if default.get(name) != found.get(name)}


def _named(value: Any) -> Any:
    return PurePath(value).name if isinstance(value, str) else value


def _fitted(config: Config) -> dict[str, Any]:
    return {key: value for key, value in flat(msgspec.to_builtins(config)) if not key.startswith(NOT_COMPARED)}
