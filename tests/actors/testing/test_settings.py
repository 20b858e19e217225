"""Settings are checked where they are made, and errors name what is wrong."""

import socket
from collections import Counter
from collections.abc import Callable

import httpx
import pytest

from actors.testing import (
    MEANINGS,
    Fault,
    FaultPlan,
    Latency,
    ModelServer,
    ServerAddressError,
    ServerSettings,
    ServerSettingsError,
    Spell,
    SpellKind,
    evenly,
)
from actors.testing.faults import FaultPlayer
from prism.errors import PrismError
from tests.catalogue import catalogue

ALWAYS_BUSY = Spell(kind=SpellKind.BUSY, every_s=1, least_s=1, most_s=1)


@catalogue(
    ("make", "message"),
    [
        (lambda: ServerSettings(models=("",)), "models: each needs a name"),
        (lambda: ServerSettings(slots=0), "slots: must be at least 1, not 0"),
        (lambda: ServerSettings(max_queue=-1), "max_queue: must be at least 0, not -1"),
        (lambda: ServerSettings(max_connections=0), "max_connections: must be at least 1, not 0"),
        (lambda: ServerSettings(keeps=-1), "keeps: must be at least 0, not -1"),
        (lambda: ServerSettings(rate_per_s=0.0), "rate_per_s: must be greater than 0, not 0.0"),
        (lambda: ServerSettings(rate_per_s=float("nan")), "rate_per_s: must be greater than 0, not nan"),
        (lambda: ServerSettings(load_s=float("nan")), "load_s: must be at least 0, not nan"),
        (lambda: Latency(mean_s=-1), "latency mean_s: must be at least 0, not -1"),
        (lambda: Latency(slope=float("inf")), "latency slope: must be at least 0, not inf"),
        (lambda: Latency(p99_s=8), "latency p99_s: needs a mean_s above 0"),
        (lambda: Latency(mean_s=1, p99_s=20), "latency p99_s: must be 1 to 15.0 times mean_s, not 20.0"),
        (
            lambda: FaultPlan(shares={Fault.HANG: 0.9, Fault.CUT: 0.2}),
            "shares of faults: must be at least 0 and at most 1 together, not hang=0.9, cut=0.2",
        ),
        (
            lambda: FaultPlan(shares={Fault.HANG: float("nan")}),
            "shares of faults: must be at least 0 and at most 1 together, not hang=nan",
        ),
        (lambda: ServerSettings(spells=(ALWAYS_BUSY, ALWAYS_BUSY)), "spells: there may be one of each kind"),
        (lambda: FaultPlan(at={0: Fault.CUT}), "call of a fault: calls are counted from 1, not 0"),
        (lambda: FaultPlan(burst=0), "burst: must be at least 1, not 0"),
        (lambda: FaultPlan(drip_s=-1), "drip_s: must be at least 0, not -1"),
    ],
)
def test_a_setting_out_of_its_range_is_refused_by_name(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ServerSettingsError) as caught:
        make()
    assert str(caught.value) == message


def test_an_address_that_is_taken_is_one_line_that_says_what_to_do() -> None:
    with ModelServer() as server, pytest.raises(ServerAddressError) as caught:
        ModelServer(port=server.port).start()
    assert str(caught.value) == (
        f"cannot listen on 127.0.0.1:{server.port}: Address already in use; choose another port, or 0 for one that is "
        "free"
    )
    assert isinstance(caught.value, PrismError)


@pytest.mark.parametrize(("host", "port"), [("no.such.host.invalid", 0), ("127.0.0.1", 70_000)])
def test_an_address_that_is_none_is_refused_too(host: str, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    what = "port" if port else "address"
    if port == 0:
        monkeypatch.setattr(socket, "create_server", unknown)  # a real one may ask the network
    with pytest.raises(ServerAddressError, match=f"cannot listen on {host}:{port}: .*choose an.* {what}"):
        ModelServer(host=host, port=port).start()


@catalogue("burst", [1, 3, 10])
def test_faults_mixed_evenly_are_their_share_of_the_calls(burst: int) -> None:
    player, plan = FaultPlayer(), FaultPlan(shares=evenly(0.36), burst=burst)
    picked = Counter(player.next(plan, call) for call in range(1, 60_001))
    assert picked.keys() == {None, *MEANINGS}
    for fault in Fault:
        assert picked[fault] == pytest.approx(60_000 * 0.03, rel=0.15)
    assert 60_000 - picked[None] == pytest.approx(60_000 * 0.36, rel=0.03)


def test_a_server_remembers_its_latest_requests_and_counts_them_all() -> None:
    seen: list[str] = []
    with ModelServer(ServerSettings(keeps=2), on_exchange=lambda exchange: seen.append(exchange.path)) as server:
        for path in ("/", "/api/tags", "/api/version", "/nope"):
            httpx.get(server.url + path, trust_env=False)
    statistics = server.statistics()
    assert [request.path for request in server.requests] == ["/api/version", "/nope"]
    assert seen == ["/", "/api/tags", "/api/version", "/nope"]
    assert (statistics.requests, statistics.calls, statistics.statuses) == (4, 0, {200: 3, 404: 1})
