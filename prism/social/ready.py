"""Compiled kernels, made ready before the first tick: a tick would wait half a minute for them on a new machine."""

from __future__ import annotations

from typing import Final

import numpy as np

from prism import kernels
from prism.agents import answer_kernel
from prism.agents.social_agent import ANYBODY
from prism.config import FeedConfig
from prism.config.model import RelevanceConfig
from prism.social import choice_kernel, post_kernel, turn_kernel, view_kernel
from prism.social.graph import FollowGraph
from prism.social.population import Population
from prism.social.state import SocialState
from prism.social.tables import SHARE_COLUMNS, VIEW_COLUMNS, ChartTables

_so_far: Final = [0]
"""The person-ticks of all runs of this process that were made ready: a worker does many small ones."""
_called: Final[list[bool]] = []
"""True, once each kernel was called."""


def make_ready(person_ticks: int) -> None:
    """Compile the kernels, or load them, if the runs of this process, with one of so many more, are over sooner so.

    Each is called once in a world of two people, with arrays of the types that it will get.
    """
    _so_far[0] += person_ticks
    if _called or not kernels.are_wanted(_so_far[0]):
        return
    _called.append(True)
    kernels.compile_kernels()
    people = Population(personas=(ANYBODY, ANYBODY), graph=FollowGraph(2, [0], [1]))
    state = SocialState(people, FeedConfig(), 0, 24, RelevanceConfig())
    state.make_room(2)
    state.t = state.t._replace(activity=np.zeros(2))
    due, codes = (np.zeros(2, dtype=np.int64) for _ in range(2))
    nobody = due[:0]
    turn_kernel.begin_round(state.t, 0, 1.0)
    turn_kernel.take_due(state.t, 0, due, codes)
    turn_kernel.apply(state.t, 0, nobody, nobody, np.zeros((1, turn_kernel.KIND_COLUMNS), dtype=np.int64))
    none = np.zeros(1, dtype=np.bool_)
    turn_kernel.select(state.t, 0, nobody, nobody, ChartTables(1, due, due, none, due), nobody, nobody)
    views, shares = np.zeros((0, VIEW_COLUMNS), dtype=np.int64), np.zeros((0, SHARE_COLUMNS))
    post_kernel.see(state.t, nobody, 0, views, shares)
    some, table = np.zeros((1, 1)), np.zeros((1, 1), dtype=np.int64)
    seen, draws = np.zeros((0, choice_kernel.SEEN_COLUMNS)), np.zeros((0, 3), dtype=np.int64)
    choice_kernel.look(0, nobody, views, shares, seen, draws)
    choice_kernel.choose(state.t.key, some, table, due, due, some[0], seen, draws, some, some[0], due)
    view_kernel.relevances(some[0], views, shares, some[0])
    name, text = np.zeros((1, 3), dtype=np.int32), np.zeros(1, dtype=np.uint8)
    bits = shares.view(np.uint64)
    view_kernel.write_views(state.t.key, 0, views, bits, name, text, due, text, due, text, due, text, due)
    view_kernel.write_events(state.t, 0, 0, 0, text, due, text, due, False, text, due)  # a kernel's
    post_kernel.change_lists(state.t, nobody, nobody, nobody)
    answer_kernel.write_answers(nobody, nobody, text[None], text, due, due, text, due, text, due, text)
