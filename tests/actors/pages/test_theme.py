"""The colours of pages: text and lines can be read on their grounds, in both themes."""

from __future__ import annotations

from actors.pages.style import DARK, LIGHT, theme_css
from tests.catalogue import catalogue
from tests.deploy.test_palette import linear

TEXT, LINE = 4.5, 3.0
"""The least contrasts of WCAG 2.2, level AA."""


def contrast(first: str, second: str) -> float:
    """Return the ratio of the relative luminances of two colours, as WCAG 2.2 defines it."""
    low, high = sorted(
        0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in map(linear, (first, second))
    )
    return (high + 0.05) / (low + 0.05)


@catalogue("colors", [LIGHT, DARK])
def test_text_and_lines_can_be_read(colors: dict[str, str]) -> None:
    for ground in (colors["ground"], colors["panel"]):
        assert all(contrast(colors[name], ground) >= TEXT for name in ("text", "quiet", "link"))
        assert contrast(colors["line"], ground) >= LINE


def test_both_themes_define_the_same_variables() -> None:
    css = theme_css()
    assert LIGHT.keys() == DARK.keys()
    assert all(css.count(f"--{name}:") == 3 for name in LIGHT)
