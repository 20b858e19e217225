"""docs/runs.md says what the code does."""

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import get_args

from actors.store import checkpoint, journal, oracle_log, segments
from actors.store.journal import Header
from prism.events import OF_EVERY_RUN, OF_FEEDS
from prism.planes import Form
from prism.tables import HEAPS, NUMBERS
from tests.actors.store.independent_reader import read_run
from tests.actors.store.test_independent_reader import PAGE
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


def keys_in(text: str) -> list[str]:
    """The names in the first cells of a table."""
    return re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \| ", text, re.MULTILINE)))


def test_every_key_of_the_header_is_documented() -> None:
    header = section("journal.prism").split("### Ticks")[0]
    of_sealed = {"first", "start", "tick", "link", "kinds"}
    assert of_sealed == set(segments.Sealed.__struct_fields__)
    assert sorted(keys_in(header)) == sorted(Header.__struct_fields__)
    row = next(line for line in header.splitlines() if line.startswith("| `sealed` |"))
    assert of_sealed <= set(re.findall(r"`(\w+)`", row))


def test_every_table_is_documented_with_its_columns_and_the_numbers_of_names() -> None:
    documented = {cells[0].strip("`"): cells[2] for cells in rows("journal.prism") if len(cells) == 3}
    for table in (*OF_EVERY_RUN, *OF_FEEDS):
        for column in table.columns:
            assert f"`{column.name}`" in documented[table.name], f"{table.name}.{column.name}"
            for number, name in enumerate(column.names):
                assert f"{number} `{name}`" in documented[table.name]


def test_every_type_of_a_column_is_documented() -> None:
    for dtype in (*NUMBERS, *HEAPS):
        assert f"`{dtype}`".replace("|", "\\|") in section("journal.prism")


def test_every_key_and_form_of_a_segment_is_documented() -> None:
    text, forms = section("Segments").split("| form |")
    assert sorted(keys_in(text)) == sorted(segments.Segment.__struct_fields__)
    assert f"`[{', '.join(segments.Block._fields)}]`" in text
    assert sorted(keys_in(forms)) == sorted(get_args(Form))


def test_the_hash_of_the_settings_can_be_worked_out_as_documented(embedded: Path) -> None:
    header = read_run(embedded).header
    canonical = json.dumps(header["config"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert sha256(canonical.encode()).hexdigest() == header["config_sha256"]


def test_every_wave_of_a_tick_is_in_the_order_of_agents(embedded: Path) -> None:
    for tick in read_run(embedded).ticks:
        for table, waves in tick.items():
            for wave in waves if table != "kinds" else ():
                agents = [row["agent"] for row in wave]
                assert agents == sorted(agents)
