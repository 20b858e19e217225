"""A frame that is drawn again and again in its place, on a terminal that changes its size."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console
from rich.text import Text

from actors.display.frame import Frame

ESCAPE = re.compile(r"\x1b\[(\??)(\d*)([A-Za-z])")


class Screen:
    """A terminal that breaks the lines on it when it gets narrower, as most do.

    It has rows of text, and a cursor in the last column written.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.rows = [""]
        self.at = 0

    def write(self, text: str) -> None:
        while text:
            found = ESCAPE.match(text)
            if found:
                self._obey(found[3], int(found[2] or 1))
                text = text[found.end() :]
                continue
            character, text = text[0], text[1:]
            if character == "\n":
                self.at += 1
                self.rows.extend([""] * (self.at + 1 - len(self.rows)))
            elif character != "\r":
                self.rows[self.at] += character

    def _obey(self, command: str, count: int) -> None:
        if command == "A":
            self.at = max(0, self.at - count)
        elif command == "B":
            self.at = min(len(self.rows) - 1, self.at + count)
        elif command == "K":
            self.rows[self.at] = ""
        elif command == "J":
            self.rows[self.at :] = [""]

    def narrow(self, width: int) -> None:
        """Break every line that is longer than the new width; the cursor stays at its character."""
        self.width = width
        before = self.rows[: self.at + 1]
        broken = [[line[i : i + width] for i in range(0, max(1, len(line)), width)] for line in before]
        self.rows = [part for parts in broken for part in parts]
        self.at = len(self.rows) - 1


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=40, height=20, force_terminal=True, color_system=None)


def flush(console: Console, screen: Screen) -> None:
    assert isinstance(console.file, io.StringIO)
    screen.write(console.file.getvalue())
    console.file.seek(0)
    console.file.truncate()


@pytest.mark.parametrize("width", [39, 20, 13, 7])
def test_nothing_of_a_frame_stays_when_the_terminal_gets_narrower(console: Console, width: int) -> None:
    screen = Screen(40)
    screen.write("before\n")
    frame = Frame(console, stays=True)
    frame._live.auto_refresh = False
    frame.content = Text("\n".join(("a" * 40, "bb", "c" * 30)))
    with frame:
        frame._live.refresh()
        flush(console, screen)
        assert screen.rows == ["before", "a" * 40, "bb", "c" * 30]
        screen.narrow(width)
        console.width = width
        frame.content = Text("x\ny")
        frame._live.refresh()
        flush(console, screen)
    assert [row for row in screen.rows if row] == ["before", "x", "y"]


def test_lines_have_no_blanks_at_their_ends_so_that_a_narrower_terminal_breaks_few(console: Console) -> None:
    frame = Frame(console, stays=True)
    frame.content = Text("one   \n  two      ")
    console.print(frame)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == "one\n  two"
