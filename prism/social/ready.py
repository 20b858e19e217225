"""Compiled kernels, made ready before the first tick: a tick would wait half a minute for their compilation."""

from __future__ import annotations

from typing import Final

import numpy as np

from prism import kernels
from prism.agents import bytes_kernel
from prism.agents.social_agent import ANYBODY
from prism.config import FeedConfig
from prism.config.model import RelevanceConfig
from prism.kernels import Held
from prism.social.kernels import choice_kernel, post_kernel, stretch_kernel, turn_kernel, view_kernel
from prism.social.kernels.stretch_kernel import ChoiceTables, TurnTables
from prism.social.kernels.view_kernel import TextTables
from prism.social.people.population import Population
from prism.social.state import SocialState
from prism.social.stretch import log_of, wave_of
from prism.social.tables import ChartTables
from prism.social.ties.graph import FollowGraph

_so_far: Final = [0]
"""The person-ticks of all runs of this process that were made ready: a worker does many small ones."""
_called: Final[list[bool]] = []


def make_ready(person_ticks: int) -> None:
    """Compile or load the kernels, if that ends the runs of this process sooner, the next one included."""
    _so_far[0] += person_ticks
    if _called or not kernels.are_wanted(_so_far[0]):
        return
    _called.append(True)
    with kernels.kept():
        kernels.compile_kernels()
        people = Population(personas=(ANYBODY, ANYBODY), graph=FollowGraph(2, [0], [1]))
        state = SocialState(people, FeedConfig(), 0, 24, RelevanceConfig())
        state.make_room(2)
        state.t = state.t._replace(activity=np.zeros(2))
        t = state.held
        due, codes = (np.zeros(2, dtype=np.int64) for _ in range(2))
        nobody = due[:0]
        turn_kernel.begin_round(t, 0, 1.0)
        turn_kernel.take_due(t, 0, due, codes)
        kinds, truths = np.zeros((1, turn_kernel.KIND_COLUMNS), dtype=np.int64), np.zeros(1, dtype=np.bool_)
        turn_kernel.apply(t, 0, nobody, nobody, kinds)
        chart = ChartTables(1, due, due, truths, due)
        turn_kernel.select(t, 0, nobody, nobody, chart, nobody, nobody)
        wave, log = wave_of(2, 1, 1), log_of(2, 1, 1, 1)
        views = log.views[:0]
        post_kernel.see(t, nobody, 0, views)
        some, table = np.zeros((1, 1)), np.zeros((1, 1), dtype=np.int64)
        seen, draws = wave.seen[:0], wave.draws[:0]
        choice_kernel.look(0, nobody, views, seen, draws)
        choice_kernel.choose(state.t.key, some, table, due, due, some[0], seen, draws, some, due)
        names, text = np.zeros((1, 3), dtype=np.int32), np.zeros(1, dtype=np.uint8)
        words = Held()(TextTables(names, text, due, text, due, text, due))
        view_kernel.write_texts(state.t.key, views, words, text, text, text, log.events)
        view_kernel.write_triggers(t, state.t.key, 0, nobody, nobody, truths, words, text, due, views, text, due)
        post_kernel.act_all(t, kinds[:0, :3].copy(), 0)
        post_kernel.change_lists(t, nobody, nobody, nobody)
        known = TurnTables(due, kinds, due, truths)
        choice = ChoiceTables(state.t.key, some[0], some, table, due, due, some[0], some[0])
        bytes_kernel.write_payloads(0, nobody, nobody, np.zeros((0, 2, 2), np.int64), text, kinds, text, nobody)
        stretch_kernel.run_ticks(t, 0, 0, 0, 0, chart, known, choice, wave, log)
