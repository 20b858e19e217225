from __future__ import annotations

from prism.text_files import decode_text, file_format
from tests.catalogue import catalogue


@catalogue(
    ("source", "expected"),
    [("a/Ties.CSV.gz", ".csv"), ("t.graphml", ".graphml"), ("t.tar.gz", ".tar"), ("t", ""), ("t.gz", "")],
)
def test_the_format_is_the_extension_below_gz(source: str, expected: str) -> None:
    assert file_format(source) == expected


def test_decoded_text_has_plain_line_ends() -> None:
    assert decode_text(b"a\r\nb\rc\n", "t.txt") == "a\nb\nc\n"
