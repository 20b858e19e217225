"""Writes docs/ledger.md: `python -m tests.docs.refresh_ledger [DIRECTORY]`.

The directory is the one in which `prism replicate` has put its results, such as `replications`. Its lines are kept
beside the files of the replications first. Without a directory the page is written from the lines that are kept.
"""

from __future__ import annotations

import sys
from pathlib import Path

from actors.factory.shipped import replications
from actors.studies.replications.ledger import LINE, Entry, page_of, read_line
from tests.paths import ROOT

PAGE = ROOT / "docs" / "ledger.md"


def kept() -> list[Entry]:
    """Return the replications with the lines that are kept beside them."""
    return [Entry(name, path, read_line(path.with_suffix(".json"))) for name, path in replications().items()]


def main(directory: Path | None) -> None:
    """Keep the lines of the directory, and write the page."""
    for name, path in replications().items() if directory is not None else ():
        line = Path(directory, name, LINE) if directory is not None else Path()
        if line.exists():
            path.with_suffix(".json").write_bytes(line.read_bytes())
    PAGE.write_text(page_of(kept()), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
