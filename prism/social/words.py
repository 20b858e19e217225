"""The texts that expressions read, as numbers."""

from __future__ import annotations

from collections.abc import Iterable

from prism.config.attributes import Value


class Words:
    """Texts, each with a number.

    Args:
        texts: the first ones, in the order of their numbers.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._texts = [*texts]
        self._numbers = {text: number for number, text in enumerate(self._texts)}

    def number(self, text: str) -> int:
        """Return the number of a text, which gets the next one if it has none."""
        found = self._numbers.get(text)
        if found is None:
            found = self._numbers[text] = len(self._texts)
            self._texts.append(text)
        return found

    def numbers(self, values: Iterable[Value]) -> list[float]:
        """Return values as columns have them: a truth value is 1 or 0, and a text is its number."""
        return [float(self.number(each)) if isinstance(each, str) else float(each) for each in values]

    def text(self, number: int) -> str:
        """Return the text with a number."""
        return self._texts[number]
