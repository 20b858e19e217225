"""The settings of a request to a model's server: what is taken, and one line for what is not."""

from __future__ import annotations

import pytest

from prism.config import RequestConfig, load_config
from prism.errors import ConfigError, SettingError
from tests.catalogue import catalogue


@catalogue(
    ("setting", "line"),
    [
        ("llm.request.path=v1/chat", "llm.request.path: expected a path such as /v1/chat/completions, got 'v1/chat'"),
        (
            "llm.request.path=/a?b=c",
            (
                "llm.request.path: expected a path such as /v1/chat/completions, got '/a?b=c'; parameters belong in "
                "llm.request.query"
            ),
        ),
        ("llm.request.path=/a/../b", "llm.request.path: expected a path such as /v1/chat/completions, got '/a/../b'"),
        ("llm.request.headers={a b: c}", "llm.request.headers.a b: expected the name of a header, such as api-key"),
        ("llm.request.headers={Host: c}", "llm.request.headers.Host: is set by PRISM itself; leave it out"),
        ('llm.request.headers={a: "b\\nc"}', "llm.request.headers.a: expected printable ASCII characters, at"),
        (
            "llm.request.headers={api-key: abc123}",
            "llm.request.headers.api-key: expected an environment variable such as $API_KEY, because a run keeps its",
        ),
        (
            "llm.request.query={key: abc123}",
            "llm.request.query.key: expected an environment variable such as $API_KEY, because a run keeps its",
        ),
        ("llm.request.query={a: [b]}", "llm.request.query.a: expected text"),
        ("llm.request.extra_body={model: b}", "llm.request.extra_body.model: is set by PRISM itself; leave it out"),
        ("llm.request.extra_body={a: 2024-01-01}", "llm.request.extra_body.a: expected a value that JSON has, got "),
        ("llm.request.extra_body={a: {b: .inf}}", "llm.request.extra_body.a: expected a value that JSON has, got a"),
    ],
)
def test_a_setting_that_no_request_can_carry_is_one_line_by_its_key(setting: str, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(None, overrides=[setting])
    assert str(caught.value).startswith(f"--set: {line}")
    assert "\n" not in str(caught.value)
    assert "abc123" not in str(caught.value)


def test_a_version_may_look_like_a_date_or_a_number() -> None:
    text = "query: {api-version: 2024-10-21, v: 2, beta: true}, headers: {X-Tries: 3, api-key: $K}"
    config = load_config(f"llm: {{request: {{{text}}}}}").llm.request
    assert config.query == {"api-version": "2024-10-21", "v": "2", "beta": "true"}
    assert config.headers == {"X-Tries": "3", "api-key": "$K"}


@catalogue("name", ["Authorization", "x-api-key", "apikey", "accessToken", "Cookie", "X_SECRET"])
def test_a_secret_header_may_not(name: str) -> None:
    with pytest.raises(SettingError, match="expected an environment variable"):
        RequestConfig(headers={name: "text"})
    assert RequestConfig(headers={name: "Bearer $IT"}).headers == {name: "Bearer $IT"}
