"""The settings of a request to a model's server: what is taken, and one line for what is not, without any key."""

from pathlib import Path
from typing import Any

import pytest

from actors.cli.command import EXIT_CONFIG
from prism.config import RequestConfig, load_config
from prism.errors import ConfigError
from tests.catalogue import catalogue
from tests.command import Prism

SECRET = "9f2c4e8a7b1d6035"
"""A key without a form: only the place says that it is one."""
KEY = f"sk-proj-{SECRET}"
"""A key by its first letters, wherever it stands."""
VARIABLE = "expected an environment variable such as $API_KEY, because a run keeps its"

REFUSED: tuple[tuple[str, str], ...] = (
    (
        "request.path=/a?b=c",
        "expected a path such as /v1/chat/completions, got '/a?b=c'; parameters belong in llm.request.query",
    ),
    ("request.headers={a b: c}", ".a b: expected the name of a header, such as api-key"),
    ("request.headers={Host: c}", ".Host: is set by PRISM itself; leave it out"),
    ('request.headers={a: "b\\nc"}', ".a: expected printable ASCII characters, at"),
    (f"request.headers={{api-key: {SECRET}}}", f".api-key: {VARIABLE}"),
    ("request.query={v: 2024-10-21}", ".v: expected text, got 2024-10-21"),
    ("request.extra_body={model: b}", ".model: is set by PRISM itself; leave it out"),
    ("request.extra_body={a: 2024-01-01}", ".a: expected a value that JSON has, got "),
    (f"host=http://127.0.0.1:1/v1?api_key={SECRET}", "expected an address without parameters"),
    (f"host=http://ada:{SECRET}@127.0.0.1:1", "must not carry a user or password"),
    (f"model={KEY}", "expected no key"),
    (f"api_key_env={KEY}", "expected the name of an environment variable"),
    (f"request.path=/v1/{KEY}/chat", "expected no key"),
    (f"request.headers={{X-Title: {KEY}}}", f".X-Title: {VARIABLE}"),
    (f"request.headers='Authorization: Bearer {KEY}'", "expected mapping of text to text"),
    (f"request.extra_body={{api_key: {SECRET}}}", ".api_key: expected no secret"),
    (f"request.extra_body={{user: {KEY}}}", ".user: expected no secret"),
    (
        f"request.extra_body={{providers: [{{a: 1}}, {{accessToken: {SECRET}}}]}}",
        ".providers[1].accessToken: expected no secret",
    ),
)


@catalogue(("setting", "line"), REFUSED)
def test_what_no_request_can_carry_is_one_line_by_its_key_and_shows_no_secret(setting: str, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(None, overrides=[f"llm.{setting}"])
    place = f"--set: llm.{setting.partition('=')[0]}"
    assert str(caught.value).startswith(place + (line if line.startswith(".") else f": {line}"))
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_run_with_a_key_in_its_configuration_leaves_no_file(prism: Prism, tmp_path: Path) -> None:
    written = tmp_path / "study.yaml"
    text = f"oracle:\n  backend: openai\nllm:\n  request:\n    extra_body:\n      auth:\n        api_key: {SECRET}\n"
    written.write_text(text)
    ended = prism("run", str(written), "--out", str(tmp_path / "run"))
    assert ended.code == EXIT_CONFIG
    assert f"{written}:7: llm.request.extra_body.auth.api_key: expected no secret" in ended.err
    assert SECRET not in ended.out + ended.err
    assert [*tmp_path.iterdir()] == [written]


@catalogue(
    "fields",
    [
        {"max_tokens": 5, "stop_token": "</s>", "prompt_cache_key": "study-7", "skip_special_tokens": True},
        {"eos_token": "<end>", "thinking_tokens": "auto", "keyboard": "qwerty", "author": "us"},
        {"tools": [{"name": "look", "parameters": {"properties": {"token": {"type": "string"}}}}], "api_key": None},
        {"metadata": {"name": "disk-usage-of-task-force", "value": "sk-8"}, "models": ["risk-averse-model-2024"]},
    ],
)
def test_ordinary_fields_of_a_question_are_taken(fields: dict[str, Any]) -> None:
    assert RequestConfig(extra_body=fields).extra_body == fields
