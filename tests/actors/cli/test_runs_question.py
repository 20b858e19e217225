"""`prism runs --question` where the server's log leads to no answer, or to no question."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import msgspec
import pytest

from actors.store.journal import JOURNAL
from actors.store.messages import ticks_of
from actors.store.oracle_log import ANSWERS, MAGIC, encode_answer
from actors.store.run import header_in
from prism.agents import Question
from prism.llm.question_id import question_id
from prism.llm.spending import Spent
from tests.command import Prism


def questions(run: Path) -> Iterator[tuple[str, Question[object]]]:
    """Yield the questions of a run, each with its id."""
    seed = header_in(run).seed
    for question in chain.from_iterable(ticks_of(run, Question)):
        yield question_id(seed, question.tick, question.agent, msgspec.msgpack.encode(question)), question


@pytest.fixture
def copies(small_run: Path, tmp_path: Path) -> Path:
    """Return a directory with two copies of a run."""
    for name in ("one", "two"):
        shutil.copytree(small_run, tmp_path / "runs" / name)
    return tmp_path / "runs"


def test_a_question_of_the_embedded_oracle_is_shown_of_every_run_that_asked_it(copies: Path, prism: Prism) -> None:
    wanted, question = next(questions(copies / "one"))
    shown = prism("runs", "--question", wanted)
    assert shown.code == 0
    assert [line for line in shown.out.splitlines() if not line.startswith(" ")] == [
        f"runs/{name}: question {wanted}" for name in ("one", "two")
    ]
    assert f"  asked    by agent {question.agent} in tick {question.tick}, on decides in evaluating" in shown.out
    assert "  answer   not in oracle.log" in shown.out
    assert re.search(r"\n  effect   in tick \d+: from evaluating to \w+\n", shown.out)


def test_an_id_that_no_run_has_is_exit_code_1(copies: Path, prism: Prism) -> None:
    wanted, _ = next(questions(copies / "one"))
    other = f"{wanted[:-1]}{'0' if wanted[-1] != '0' else '1'}"
    ended = prism("runs", "--question", other)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == f"prism: runs: no question {other} in 2 runs\n"


def test_a_text_without_an_id_is_a_wrong_use(prism: Prism, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    ended = prism("runs", "--question", "req_12")
    assert ended.code == 2
    assert "'--question': expected the header X-Request-Id, such as 340-12-9f86d081884c7d65-1-1-5f3a9c" in ended.err
    assert "got 'req_12'" in ended.err


def test_a_run_that_cannot_be_read_is_named_and_the_others_are_searched(copies: Path, prism: Prism) -> None:
    wanted, _ = next(questions(copies / "two"))
    (copies / "one" / JOURNAL).write_bytes(b"PRISMX\r\n")
    ended = prism("runs", "--question", wanted)
    assert (ended.code, ended.out.splitlines()[0]) == (0, f"runs/two: question {wanted}")
    assert ended.err.startswith("prism: runs/one: cannot be searched: ")


def test_a_failure_is_shown_with_what_it_cost(copies: Path, prism: Prism) -> None:
    wanted, question = next(questions(copies / "one"))
    answer = (4, question.tick, question.agent, question.trigger, "scrolling", "fallback", "timeout", "", 7.5)
    encoded = msgspec.msgpack.encode((*answer, (Spent("timeout", 2, 7.0),)))
    (copies / "one" / ANSWERS).write_bytes(MAGIC + encode_answer(encoded))
    shown = prism("runs", "runs/one", "--question", wanted)
    assert "  answer   scrolling, from fallback, timeout, after 7.500 s" in shown.out
    assert "  calls    2 timeout (0 tokens in, 0 out)" in shown.out


def test_an_answer_whose_tick_is_not_in_the_journal_yet_is_shown_as_such(copies: Path, prism: Prism) -> None:
    encoded = msgspec.msgpack.encode((4, 100_000, 3, "decides", "composing", "llm"))
    (copies / "one" / ANSWERS).write_bytes(MAGIC + encode_answer(encoded))
    shown = prism("runs", "--question", "100000-3-9f86d081884c7d65")
    assert shown.code == 0
    assert shown.out.splitlines()[1:] == [
        "  asked    by agent 3 in tick 100000; the tick is not in the journal, so it may be another",
        "  answer   composing, from llm, after 0.000 s",
        "  calls    none of its own: an identical question was under way, or a tape had the answer",
    ]
