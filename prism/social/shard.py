"""A shard of the social world: the people of a range, with a replica of the posts alive.

Within a wave, who comes first sees less: a feed has the posts of those before its reader, and not of those after. The
people of a shard are a range of numbers, so in each wave its world carries out the acts of the people below the range,
then the turns of its own people, then the acts of those above. Each replica of the posts is then the same, to the row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from prism.agents.waves import Updates
from prism.columns import Floats, Ints
from prism.config import Config
from prism.errors import ConfigError
from prism.social import tables as col
from prism.social.changing import NO_CHANGES
from prism.social.kernels import post_kernel
from prism.social.kernels.turn_kernel import EFFECT, TARGET
from prism.social.state import RINGS
from prism.social.world import SocialWorld

_SESSION: Final = 0.02
"""The work for a person who stays offline, as a share of that for one who comes online."""
_TABLES: Final = ("people", "feed", *RINGS)


def check_shards(config: Config) -> None:
    """Refuse interventions with which what somebody does would depend on more of another shard than acts of its people.

    Raises:
        ConfigError: there is one.
    """
    if config.run.shards == 1:
        return
    for place, each in enumerate(config.interventions):
        if each.set is not None and each.set.get("feed.reshare_credit") == "newest":
            problem = "with run.shards, feed.reshare_credit must stay seen or root"
            raise ConfigError("configuration", problem, key=f"interventions[{place}].set")


class SocialShard(SocialWorld):
    """A world of people that may be one of several which together are that of a run, each with the turns of a range.

    What a person does to what all have in common, an *act*, every one of them carries out. All else about a person is
    right in the world of the own shard only. Until `keep` says whose turns are its own, all people are.
    """

    def ranges(self, shares: Sequence[float]) -> list[range]:
        """Return ranges of people, ascending, with about these shares of the work; together they are 1.

        Most work is for those who come online, and grows with what comes to them.
        """
        followees, size = self.network.state.t.ties.followees, len(self.people)
        come = np.minimum(followees.ends - followees.starts, self.config.feed.memory)
        sums = np.cumsum(self.traits.activity * (1.0 + come / 50.0) + _SESSION)
        ends = np.searchsorted(sums, sums[-1] * np.cumsum(shares[:-1])).tolist()
        return [range(start, stop) for start, stop in zip([0, *ends], [*ends, size], strict=True)]

    def keep(self, own: range, *, is_whole: bool) -> None:
        """Take the turns of these people only, from now on; a whole world counts for all, and writes things down."""
        state = self.network.state
        state.t = state.t._replace(settings=state.t.settings._replace(low=own.start, high=own.stop))
        # The rows of other people are released, but for how many posts they have made, by which posts get their names.
        kept, t, fresh = slice(own.start, own.stop), state.t, dict[str, Any]()
        for name in _TABLES:
            table = getattr(t, name)
            if len(table) < len(t.people):  # rings that the settings do not need have one row
                continue
            fresh[name] = np.zeros(table.shape, dtype=table.dtype)  # no memory is taken where nothing is written
            fresh[name][kept] = table[kept]
        authors = np.flatnonzero(t.people["made"])
        for name in ("made", "begun_in", "begun"):
            fresh["people"][name][authors] = t.people[name][authors]
        state.t = t._replace(**fresh)
        if not is_whole:
            self.network.is_written = False
            self._begin_counts()

    def _begin_counts(self) -> None:
        t = self.network.state.t
        for counted in (t.inside, t.counts.feeds):
            counted[:] = 0

    def acts(self, updates: Updates | None) -> Ints:
        """Return the acts of updates that are to be applied: a row each, first the person, in the order of people."""
        if updates is None:
            return np.zeros((0, 3), dtype=np.int64)
        kinds, people = self.kind_rows(updates.kinds), self.people
        may_act = (kinds[:, EFFECT] > 0) & (kinds[:, TARGET] != col.UNMOVED)
        places = may_act[updates.codes].nonzero()[0]
        places = places[people["silent"][updates.agents[places]] == 0]
        who = updates.agents[places]
        return np.column_stack((who, kinds[updates.codes[places], EFFECT], people["current"][who]))

    def carry_out(self, tick: int, acts: Ints) -> None:
        if len(acts):
            self.network.state.make_room(len(acts))
            post_kernel.act_all(self.network.state.held, acts, tick)
            self.network.take_in(tick, {})

    @property
    def has_changes(self) -> bool:
        """True if people change what those of other shards may read from the next tick on."""
        return bool(self.changing.rows)

    def take_changes(self) -> Floats:
        """Return the changes of the own people in the wave that was applied last, a row each, by person."""
        changes = [NO_CHANGES, *self.changing.latest]
        self.changing.latest.clear()
        return np.concatenate(changes)

    def put_changes(self, changes: Floats) -> None:
        self.changing.put(changes)

    def take_counts(self) -> Ints:
        feeds = self.network.state.t.counts.feeds
        found = feeds.copy()
        feeds[:] = 0
        return found

    def add_counts(self, counts: Ints) -> None:
        t = self.network.state.t
        t.counts.feeds[:] += counts
        steps = np.full(int(counts[col.BUILT]) + 1, t.settings.share)
        steps[0] = t.counts.share[0]
        t.counts.share[0] = np.add.accumulate(steps)[-1]  # one by one, as `build_feed` adds them

    def take_states(self) -> Ints:
        """Return what the own people have added to counts of states since the last call."""
        found = self.network.state.t.inside.copy()
        self._begin_counts()
        return found

    def add_states(self, counts: Ints) -> None:
        self.network.state.t.inside[:] += counts
