"""`prism view` and `prism play`: what they refuse before they serve anything."""

from __future__ import annotations

import socket

from tests.actors.cli.conftest import Made
from tests.command import Prism


def test_what_cannot_be_served_is_one_clear_line(prism: Prism, made: Made) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        in_use = f"cannot listen on 127.0.0.1:{port}: Address already in use; set --port to another port"
        for command, code, told in (
            (("view", "none", "--port", "0"), 2, "none: no such run or directory"),
            (("view", ".", "--port", port), 2, in_use),
            (("play", "small.yaml", "--port", port), 2, in_use),
            (("play", str(made())), 2, "is the directory of a run: expected a configuration, such as"),
            (("play", "small.yaml", "--tape", "."), 5, "tape.sqlite: there is no such tape; record it first"),
        ):
            ended = prism(*command)
            line = [each for each in ended.err.splitlines() if not each.startswith("prism: no CONFIG")][-1]
            assert (ended.code, told in line) == (code, True), ended
