"""The HTTP endpoint, over real sockets: what it answers to a request."""

from __future__ import annotations

from structlog.typing import EventDict

from tests.actors.http.support import ask, until
from tests.actors.metrics.pages import Serve


def test_a_page_is_answered_as_it_is(serve: Serve) -> None:
    answer = ask(serve(), "/metrics")
    assert (answer.status, answer.body) == (200, "up 1\n")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")


def test_an_unknown_path_is_told_which_there_are(serve: Serve) -> None:
    answer = ask(serve(), "/admin")
    assert (answer.status, answer.body) == (404, "there are only /metrics, /healthz, /broken\n")


def test_an_error_is_one_line_to_the_reader_and_its_cause_is_in_the_log(serve: Serve, logged: list[EventDict]) -> None:
    answer = ask(serve(), "/broken")
    assert (answer.status, answer.body) == (500, "this page cannot be made; the run's log says why\n")
    assert until(lambda: bool(logged))
    assert [(event["event"], event["error"]) for event in logged] == [
        ("metrics_request_failed", "ValueError: a secret thing")
    ]
