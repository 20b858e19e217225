"""docs/runs.md says what the code does."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import msgspec

from actors.core.state import RunState
from actors.persistence import blocks, checkpoint, journal, oracle_log, segments
from actors.persistence.checkpoint import Head, Position
from actors.persistence.journal import Header
from actors.record.messages import whole_ticks
from prism.agents import Question, Update
from prism.events import FeedShown, PostEvent
from tests.actors.persistence.independent_reader import read_run
from tests.actors.persistence.test_independent_reader import PAGE
from tests.catalogue import catalogue


def section(title: str) -> str:
    """The text below a heading."""
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(title: str) -> list[list[str]]:
    """The rows of the tables below a heading."""
    lines = (line for line in section(title).splitlines() if line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@catalogue(
    ("file", "magic"),
    [
        ("journal.prism", journal.MAGIC),
        ("oracle.log", oracle_log.MAGIC),
        ("journal-<place>.seg", segments.MAGIC),
        ("checkpoint-<tick>.bin", checkpoint.MAGIC),
    ],
)
def test_the_first_bytes_of_every_file_are_documented(file: str, magic: bytes) -> None:
    assert f"| `{file}` | `{repr(magic)[2:-1]}` |" in PAGE


@catalogue(("message", "kind", "column"), [(Update, 2, 0), (Question, 2, 2), (PostEvent, 7, 0), (FeedShown, 7, 2)])
def test_every_field_of_a_message_is_documented_at_its_place(
    message: type[msgspec.Struct], kind: int, column: int
) -> None:
    tables = "".join(f"{line}\n" for line in section("journal.prism").splitlines() if line.startswith("|"))
    table = tables.split(f"| kind {kind}, ")[1].split("| kind ")[0:2]
    lines = [line.strip("|").split("|") for line in "".join(table).splitlines()]
    documented = [row[column].strip() for row in lines if len(row) == 4 and row[0].strip()[:1].isdigit()]
    expected = [f"{place} `{field}`" for place, field in enumerate(message.__struct_fields__, 1)]
    assert [cell for cell in documented if cell] == ["0", *expected]


def test_every_key_of_the_header_is_documented() -> None:
    keys = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \| ", section("journal.prism"), re.MULTILINE)))
    of_sealed = {"first", "start", "tick", "link"}
    assert of_sealed == set(journal.Sealed.__struct_fields__)
    assert sorted(keys) == sorted([*Header.__struct_fields__, "sealed"])
    row = next(line for line in section("journal.prism").splitlines() if line.startswith("| `sealed` |"))
    assert of_sealed <= set(re.findall(r"`(\w+)`", row))


def test_every_key_and_block_of_a_segment_is_documented(embedded: Path) -> None:
    text = section("Segments")
    keys = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", text.split("| block |")[0], re.MULTILINE)))
    assert sorted(keys) == sorted(segments.Segment.__struct_fields__)
    documented = {cell.strip("`") for cell, *_ in rows("Segments") if re.fullmatch(r"`[a-z<>.]+`", cell)}
    payloads = [frame.payload for frame in whole_ticks(embedded)]
    _, made = blocks.pack(0, lambda: payloads)
    names = {re.sub(r"^\d+\.\d+\.", "<form>.<item>.", re.sub(r"^\d+\.\d+$", "<form>.<column>", name)) for name in made}
    assert names | {blocks.WHOLE} == documented - {*keys}


def test_every_key_of_a_checkpoint_is_documented() -> None:
    text = section("checkpoint-<tick>.bin")
    for record in (Head, Position, RunState):
        for field in record.__struct_encode_fields__:
            assert f"`{field}`" in text, field


def test_the_hash_of_the_settings_can_be_worked_out_as_documented(embedded: Path) -> None:
    header = read_run(embedded)[0]
    canonical = json.dumps(header["config"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert sha256(canonical.encode()).hexdigest() == header["config_sha256"]


def test_every_wave_of_a_tick_is_in_the_order_of_agents(embedded: Path) -> None:
    for answers in read_run(embedded)[1]:
        agents = [answer[2] for answer in answers if answer[0] in (2, 3)]
        falls = sum(before >= after for before, after in pairwise(agents))
        assert falls <= 1  # a social tick has two waves
