"""The table of capabilities, as a manifest has it: the way in which a server was asked can be read from it again."""

from __future__ import annotations

from msgspec.structs import replace

from prism.llm.capabilities import Capabilities, way_of
from prism.llm.negotiation import OLLAMA, OPENAI
from tests.catalogue import catalogue

CHANGED = replace(
    OPENAI.first, roles="merged", schema="prompt", token_floor=256, unsent=("strict", "tools"), temperature="none"
)


@catalogue("way", [OLLAMA.first, OPENAI.first, CHANGED])
def test_a_way_is_read_from_its_table(way: Capabilities) -> None:
    assert way_of(way.table()) == way


@catalogue("table", [{}, {"thinking": "sometimes"}, {**OPENAI.first.table(), "roles": "three"}])
def test_a_table_of_another_version_is_none(table: dict[str, str]) -> None:
    assert way_of(table) is None
