"""The views that people had of posts, in columns: what a question carries, and a decision about it reads later."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.agents.social_agent import DEFAULT_WEIGHTS, relevance_of
from prism.columns import Ints
from prism.config.model import RelevanceConfig
from prism.rng import Draw, uniforms
from prism.social.post import EXPOSURE_TICKS, PostView

_FIELDS = frozenset(PostView.__struct_fields__)


class SeenPosts:
    """The fields of views as attributes, a value for each view. Each column is made when it is first read.

    Args:
        views: the views.
        weights: the weights of a post's relevance to these people.
    """

    def __init__(self, views: Sequence[PostView], weights: RelevanceConfig = DEFAULT_WEIGHTS) -> None:
        self._views = views
        self._weights = weights

    def __getattr__(self, name: str) -> NDArray[Any]:
        """Return the column of a field.

        Raises:
            AttributeError: a view has no such field.
        """
        if name not in _FIELDS:
            raise AttributeError(name)
        values = [*map(attrgetter(name), self._views)]
        if name == "topics":
            column = np.empty(len(values), dtype=object)
            column[:] = values
        else:
            column = np.array(values)
        self.__dict__[name] = column
        return column

    def read(self, field: str) -> NDArray[Any]:
        """Return the values of a field `post.NAME`, as expressions read it."""
        name = field.removeprefix("post.")
        return np.asarray(relevance_of(self, self._weights, np.minimum) if name == "relevance" else getattr(self, name))

    def drawn(self, seed: int, agents: Ints, ticks: Ints, draw: Draw) -> NDArray[np.float64]:
        """Return `drawn_about` of each view and person."""
        has = self.origin != 0
        about = self.viewed_ticks + (self.exposures - 1) * EXPOSURE_TICKS
        return uniforms(seed, agents, np.where(has, about, ticks), draw, self.origin)
