"""The JSON object within the text of a model's answer."""

from __future__ import annotations

import json

_TRIES = 100
"""The number of braces tried: deeply nested text that is never closed would otherwise be read once for each brace."""

_decoder = json.JSONDecoder()


def extract_object(text: str) -> str | None:
    """Return the first balanced JSON object in the text, or None."""
    start = text.find("{")
    for _ in range(_TRIES):
        if start < 0:
            break
        try:
            return text[start : _decoder.raw_decode(text, start)[1]]
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
    return None
