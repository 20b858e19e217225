"""PRISM beside its peers, in one run of a quarter of an hour: `make bench-peers`, or `python -m benchmarks.peers`.

    python -m benchmarks.peers [--only feed charts] [--size small] [--repeats 5] [--json FILE]
    python -m benchmarks.peers --doc

Each measurement is a process of its own, and the systems of a comparison take turns. A package that is missing or
broken here is a line that says so. `--doc` writes the last section of docs/scale.md from docs/benchmarks.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

from benchmarks.peers.page import HEADING, markdown, terminal
from benchmarks.peers.run import COMPARISONS, run
from benchmarks.peers.systems import SIZES, measured

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"


def main() -> None:
    """Print the tables, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=COMPARISONS, default=list(COMPARISONS), help="these comparisons")
    parser.add_argument("--size", choices=SIZES, default="full", help="amount of work of each measurement")
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each system, in turn")
    parser.add_argument("--under-load", action="store_true", help="note that other programs run on this machine")
    parser.add_argument("--json", type=Path, help="file to which every measurement is written")
    parser.add_argument("--doc", action="store_true", help="write the section from the JSON")
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error(f"--repeats: expected 1 or more, got {options.repeats}")
    if options.alone:
        comparison, name = options.alone
        print(json.dumps(measured(COMPARISONS[comparison][name], SIZES[options.size])))
    elif options.doc:
        document = json.loads((DOCS / "benchmarks.json").read_text(encoding="utf-8"))
        page = DOCS / "scale.md"
        before = page.read_text(encoding="utf-8").partition(HEADING)[0]
        page.write_text(before + markdown(document), encoding="utf-8")
    else:
        document = {}
        for document in run(options.only, options.size, options.repeats, under_load=options.under_load):
            if options.json:  # after each comparison, so that a run that is cut short leaves its figures
                options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(terminal(document))


if __name__ == "__main__":
    main()
