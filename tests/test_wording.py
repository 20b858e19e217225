"""The wording of messages."""

from __future__ import annotations

from prism.wording import clauses, counted
from tests.catalogue import catalogue


@catalogue(
    ("count", "many", "said"),
    [(1, "people", "1 person"), (0, "people", "0 people"), (1200, "people", "1,200 people"), (2, "", "2 persons")],
)
def test_a_noun_agrees_with_its_count(count: int, many: str, said: str) -> None:
    assert counted(count, "person", many) == said


@catalogue(
    ("parts", "said"),
    [
        (("You exceeded your quota.", "add credit"), "You exceeded your quota; add credit"),
        (("it was cut...", "add credit"), "it was cut...; add credit"),
        (("It is over.", ""), "It is over."),
        (("", ""), ""),
    ],
)
def test_clauses_stand_in_one_sentence(parts: tuple[str, ...], said: str) -> None:
    assert clauses(*parts) == said
