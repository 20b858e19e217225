"""Packages that most commands do not need, and the message where one of them is not installed."""

from __future__ import annotations


def not_installed(what: str, extra: str) -> str:
    """Return the line on a missing package, with how to get it.

    Args:
        what: the use in words, such as `prism report draws with matplotlib`.
        extra: the extra of this package that has it.
    """
    return (
        f"{what}, not installed here; to get it in a clone of the repository: make extras; "
        f"elsewhere: pip install 'prism-sim[{extra}]'"
    )
