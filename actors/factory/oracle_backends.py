"""The oracles that a configuration can name, opened for a run and closed after it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from prism.config import Config
from prism.domain import Domain
from prism.llm import Health, LanguageModel, Tape, TapedModel
from prism.statechart import Oracle

TAPE = "tape.sqlite"


class OpenOracle(NamedTuple):
    """An oracle ready to be asked, and how it presents itself; `health` is None for the embedded one."""

    oracle: Oracle[Any]
    description: str
    health: Health | None


def make_model(config: Config) -> LanguageModel:
    """The client of the model that the configuration names. Nothing is asked yet; the key comes from the environment.

    Raises:
        ValueError: the backend is no model.
    """
    # Imported here, because an HTTP client takes 0.2 s to import and most runs need none.
    if config.oracle.backend == "ollama":
        from prism.llm import OllamaChatClient  # noqa: PLC0415

        return OllamaChatClient(config.llm, os.environ)
    if config.oracle.backend == "openai":
        from prism.llm import OpenAICompatClient  # noqa: PLC0415

        return OpenAICompatClient(config.llm, os.environ)
    raise ValueError(f"backend {config.oracle.backend!r} is no language model")


@asynccontextmanager
async def open_oracle(config: Config, domain: Domain, directory: Path) -> AsyncIterator[OpenOracle]:
    """The oracle of a run, checked, warmed up, and closed at the end.

    Args:
        directory: the run's; where a tape is recorded unless the configuration says otherwise.

    Raises:
        OracleUnavailableError: the server, the model or the tape cannot be used.
    """
    if config.oracle.backend == "choice":
        embedded = domain.oracle()
        yield OpenOracle(embedded, embedded.description, None)
        return
    mode = config.oracle.tape
    path = directory / TAPE if config.oracle.tape_path is None else Path(config.oracle.tape_path)
    async with (
        aclosing(make_model(config)) as model,
        aclosing(TapedModel(model, None if mode == "off" else Tape(path, mode), mode)) as taped,
    ):
        health = await taped.check()
        yield OpenOracle(domain.oracle(taped), _describe(config, health), health)


def _describe(config: Config, health: Health) -> str:
    """The start-up line's words: what is asked, where, and how."""
    where = f"from tape {config.oracle.tape_path}" if config.oracle.tape == "replay" else f"at {config.llm.host}"
    recording = ", recorded" if config.oracle.tape == "record" else ""
    return f"{health.model} by {health.server} {where}, {health.dialect}{recording}; {health.note}".rstrip("; ")
