"""The looks of all pages: colours of the ground, of text and of lines, light and dark, as CSS variables.

Text has a contrast of at least 4.5 to 1 on each ground (WCAG 2.2, level AA), lines and marks of at least 3 to 1. The
colours of states are those of `prism.palette`, the same in both themes.
"""

from __future__ import annotations

LIGHT = {
    "ground": "#ffffff",
    "panel": "#f6f7f9",
    "text": "#1b1f24",
    "quiet": "#57606a",
    "line": "#868e96",
    "link": "#0550ae",
}
DARK = {
    "ground": "#14171a",
    "panel": "#1c2025",
    "text": "#e6e9ec",
    "quiet": "#a3abb3",
    "line": "#7d8790",
    "link": "#79b8ff",
}


def theme_css() -> str:
    """Return the style rules that define the variables: light, and dark where the reader's system asks for it.

    `data-theme="light"` or `"dark"` on the root element overrides the system. Paper is always light.
    """
    light, dark = _variables("light", LIGHT), _variables("dark", DARK)
    return (
        f":root {{ {light} }}\n"
        f'@media screen and (prefers-color-scheme: dark) {{ :root:not([data-theme="light"]) {{ {dark} }} }}\n'
        f'@media screen {{ :root[data-theme="dark"] {{ {dark} }} }}\n'
    )


def _variables(scheme: str, colors: dict[str, str]) -> str:
    return " ".join([f"color-scheme: {scheme};", *(f"--{name}: {color};" for name, color in colors.items())])
