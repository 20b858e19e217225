"""Writes the pictures of docs/studies.md: `python -m tests.docs.refresh_studies DIRECTORY [NAME...]`.

The directory has the experiments that the studies are about, as their commands leave them: `feed-facebook`, `bridge`,
`oracle`, `taylor`. They take minutes to an hour, so they are not run here. Each picture is a part of a report.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import sync_playwright

from tests.browser import ARGUMENTS, Browser
from tests.docs.refresh_images import Studio

PARTS = {
    "feed-facebook": {"study-feed": "#means .grid", "study-feed-sizes": "#courses-0"},
    "bridge": {"study-bridge": "#means .grid"},
    "oracle": {"study-oracle": "#means .grid"},
    "taylor": {"study-taylor": "#effects .grid"},
}
"""`{experiment: {picture: the part of its report}}`."""


def main(directory: Path, names: list[str]) -> None:
    """Take the pictures of these experiments, or of all that are in the directory."""
    with sync_playwright() as playwright, TemporaryDirectory() as place:
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        studio = Studio(Browser(chromium), Path(place))
        for name in names or [name for name in PARTS if (directory / name).exists()]:
            url = studio.report(name, (directory / name).resolve())
            for picture, part in PARTS[name].items():
                sys.stdout.write(f"{picture}\n")
                studio.shoot(picture, url, part=part, height=1400)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
