"""The questions of people in columns, with what each has seen of the post in view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from prism.agents.questions import QuestionKind, Questions
from prism.agents.turn import Question
from prism.columns import Ints
from prism.social.post import PostView

Floats = NDArray[np.float64]


decode: Final = msgspec.msgpack.Decoder(Question[PostView]).decode
"""Returns a question of its bytes."""


class SocialQuestions(Questions[PostView]):
    """The questions of a wave, each about a post in view.

    Args:
        tick, agents, kinds, codes, contexts, ends, relevance: as of `Questions`.
        wholes, shares: the rows of `prism.social.post_kernel.see`.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # its columns
        self,
        tick: int,
        agents: Ints,
        kinds: Mapping[int, QuestionKind],
        codes: Ints,
        contexts: NDArray[np.uint8],
        ends: Ints,
        relevance: Floats,
        wholes: Ints,
        shares: Floats,
    ) -> None:
        super().__init__(tick, agents, kinds, codes, contexts, ends, decode, relevance)
        self.wholes = wholes
        self.shares = shares
