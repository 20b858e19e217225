"""The interface of a validator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from prism.models import Action


class Validator(ABC):
    """A validator marks actions as valid or not."""

    @abstractmethod
    async def validate_actions(self, actions: Sequence[Action], *, turn: int = 0) -> list[Action]: ...
