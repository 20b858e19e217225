"""A server that is killed in mid-run and comes back, and servers that cannot be used from the start."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.command import Prism
from tests.standin import ModelServer, ServerSettings

OUTAGE_S = 4.5
"""Restarting takes half a second more, so the first probe, five seconds after the breaker opens, finds a server."""
ENOUGH = 50
"""Decisions by the model, before the outage and after it."""


@contextmanager
def closed_port() -> Iterator[str]:
    """An address at which nothing listens, and nobody else can meanwhile: the port is taken."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


def test_a_server_that_is_not_there_is_one_line_and_leaves_no_directory(prism: Prism, tmp_path: Path) -> None:
    with closed_port() as url:
        ollama, openai = prism(url), prism(url, oracle={"backend": "openai"})
    assert ollama == (
        5,
        "",
        f"prism: no Ollama server answers at {url}; start it with `ollama serve`, or set llm.host to where it runs\n",
    )
    assert openai == (
        5,
        "",
        f"prism: no server answers at {url}; start it, or set llm.host to where it runs\n",
    )
    assert not (tmp_path / "run").exists()


def test_an_unknown_model_is_one_line_with_those_that_exist(prism: Prism, tmp_path: Path) -> None:
    with ModelServer(ServerSettings(models=("llama3.2", "qwen3:8b"))) as server:
        line = (
            f"prism: the Ollama server at {server.url} has no model 'llama4': it has llama3.2:latest, qwen3:8b; "
            "get it with `ollama pull llama4`, or set llm.model\n"
        )
        assert prism(server.url, llm={"model": "llama4"}) == (5, "", line)
    assert not (tmp_path / "run").exists()


def test_a_key_that_is_refused_is_one_line_without_the_key(
    prism: Prism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(ServerSettings(key="right")) as server:
        assert prism(server.url, oracle={"backend": "openai"}) == (
            5,
            "",
            f"prism: {server.url} asks for a key; set it in $PRISM_LLM_API_KEY\n",
        )
        monkeypatch.setenv("PRISM_LLM_API_KEY", "sesame-93")
        assert prism(server.url, oracle={"backend": "openai"}) == (
            5,
            "",
            f"prism: {server.url} refuses the key in $PRISM_LLM_API_KEY; set another one\n",
        )
    assert not (tmp_path / "run").exists()
