"""Spells: one in each period, of a drawn length at a drawn time, the same for the same seed."""

from __future__ import annotations

from functools import partial

import anyio
import httpx
import pytest

from actors.testing import Latency, ModelServer, ServerSettings
from actors.testing.errors import ServerSettingsError
from actors.testing.spells import SPELLS, Spell, SpellKind, spells_at
from tests.actors.testing.support import CHAT, serving, until
from tests.catalogue import catalogue
from tests.patience import HANG_S

OUTAGE = Spell(kind=SpellKind.OUTAGE, every_s=300, least_s=10, most_s=30)


def test_each_period_has_one_spell_which_is_over_when_the_period_ends() -> None:
    spans = [OUTAGE.span(period) for period in range(1000)]
    assert all(300 * period <= begin < end <= 300 * (period + 1) for period, (begin, end) in enumerate(spans))
    lengths = [end - begin for begin, end in spans]
    assert 10 <= min(lengths) < 11
    assert 29 < max(lengths) <= 30


def test_seeds_and_kinds_have_spells_at_other_times() -> None:
    others = (
        Spell(kind=SpellKind.OUTAGE, every_s=300, least_s=10, most_s=30, seed=1),
        Spell(kind=SpellKind.BUSY, every_s=300, least_s=10, most_s=30),
    )
    assert len({OUTAGE.span(5), *(spell.span(5) for spell in others)}) == 3
    assert OUTAGE.span(5) == Spell(kind=SpellKind.OUTAGE, every_s=300, least_s=10, most_s=30).span(5)


def test_a_spell_is_under_way_from_its_begin_until_its_end() -> None:
    begin, end = OUTAGE.span(2)
    assert [OUTAGE.end(at) for at in (begin - 0.01, begin, end - 0.01, end)] == [None, end, end, None]
    slow = Spell(kind=SpellKind.SLOW, every_s=10, least_s=10, most_s=10)
    assert spells_at((OUTAGE, slow), begin) == {SpellKind.OUTAGE: end, SpellKind.SLOW: slow.end(begin)}
    assert spells_at((OUTAGE,), end) == {}


@catalogue(("every", "least", "most"), [(10, 0, 5), (10, 6, 5), (10, 5, 11), (float("inf"), 1, 2)])
def test_lengths_that_do_not_fit_each_other_are_refused(every: float, least: float, most: float) -> None:
    with pytest.raises(ServerSettingsError, match="0 < LEAST <= MOST <= EVERY"):
        Spell(kind=SpellKind.BUSY, every_s=every, least_s=least, most_s=most)


def test_every_kind_has_a_meaning() -> None:
    assert set(SPELLS) == set(SpellKind)


def always(kind: SpellKind) -> tuple[Spell, ...]:
    """Return a spell that is never over."""
    return (Spell(kind=kind, every_s=1000, least_s=1000, most_s=1000),)


@catalogue(("kind", "status"), [(SpellKind.BUSY, 503), (SpellKind.LIMIT, 429), (SpellKind.SLOW, 200)])
async def test_a_spell_happens_to_every_question_and_to_no_list_of_models(kind: SpellKind, status: int) -> None:
    settings = ServerSettings(spells=always(kind), latency=Latency(mean_s=0.005))
    async with serving(settings) as (server, client):
        answers = [await client.post("/api/chat", json=CHAT) for _ in range(2)]
        assert (await client.get("/api/tags")).status_code == 200
        await until(lambda: server.statistics().spells == {kind: 2})
    assert [answer.status_code for answer in answers] == [status, status]
    pauses = {answer.headers.get("retry-after") for answer in answers}
    assert pauses <= ({"1000", "999", "998"} if kind is SpellKind.LIMIT else {None})
    if kind is SpellKind.SLOW:
        assert answers[0].json()["total_duration"] >= 0.05e9


async def test_a_silent_server_takes_a_question_and_never_answers() -> None:
    async with serving(ServerSettings(spells=always(SpellKind.SILENCE))) as (server, client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(client.post, "/api/chat", json=CHAT))
            await until(lambda: server.statistics().in_flight == 1)
            tasks.cancel_scope.cancel()
        await until(lambda: server.statistics().spells == {SpellKind.SILENCE: 1})
        assert server.statistics().abandoned == 1


async def test_in_an_outage_connections_are_cut_and_refused_and_then_it_is_back_on_its_port() -> None:
    spell = Spell(kind=SpellKind.OUTAGE, every_s=0.4, least_s=0.2, most_s=0.2)
    async with serving(ServerSettings(spells=(spell,), latency=Latency(mean_s=1000))) as (server, client):
        with pytest.raises(httpx.TransportError):
            await client.post("/api/chat", json=CHAT)  # cut in its turn, or refused
        await _until_refused(client)
        await _until_answered(client)
        assert server.statistics().outages >= 1


def test_a_server_can_be_stopped_within_an_outage() -> None:
    with ModelServer(ServerSettings(spells=always(SpellKind.OUTAGE))) as server:
        pass
    assert server.statistics().open_connections == 0


async def _until_refused(client: httpx.AsyncClient) -> None:
    with anyio.fail_after(HANG_S):
        while True:
            try:
                await client.get("/api/version")
            except httpx.ConnectError:
                return


async def _until_answered(client: httpx.AsyncClient) -> None:
    with anyio.fail_after(HANG_S):
        while True:
            try:
                await client.get("/api/version")
            except httpx.TransportError:
                await anyio.sleep(0.002)
            else:
                return
