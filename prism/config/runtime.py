"""The settings of what runs a simulation and what watches it. A result depends on them only where an agent crashes."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from prism.config.section import Section


class RunConfig(Section, frozen=True, kw_only=True):
    """How the actors run. A result depends on it only where an agent crashes."""

    mailbox_capacity: Annotated[int, Meta(ge=1, le=10**7, description="most messages waiting in one mailbox")] = 1024
    tick_s: Annotated[
        float, Meta(ge=0.0, le=3600.0, description="wall seconds a tick takes at least; 0 runs as fast as it can")
    ] = 0.0
    restart_intensity: Annotated[
        int, Meta(ge=0, description="crashes of one agent within the period before it is quarantined")
    ] = 3
    restart_period_ticks: Annotated[int, Meta(ge=1, description="the period over which crashes are counted")] = 100
    checkpoint_every_ticks: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="0: only at the end; none: as the domain advises, 500 for feeds and 1 for an economy"),
    ] = None
    checkpoints_kept: Annotated[int, Meta(ge=1, le=1000, description="the latest ones; older ones are removed")] = 2
    sync: Annotated[
        bool, Meta(description="wait for the medium after each write; false is safe from a kill, not from a power cut")
    ] = True


class MetricsConfig(Section, frozen=True, kw_only=True):
    """The HTTP endpoint that a run is watched by: docs/metrics.md. A result does not depend on it."""

    enabled: Annotated[
        bool, Meta(description="serve /metrics, /healthz and /readyz; off, so that two runs do not ask for one port")
    ] = False
    host: Annotated[
        str, Meta(min_length=1, description="address to listen on; 0.0.0.0 shows the run to the whole network")
    ] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535, description="0 takes any free one and prints it")] = 9464
    tls_cert: Annotated[str | None, Meta(description="PEM certificate, with its chain; none serves plain HTTP")] = None
    tls_key: Annotated[str | None, Meta(description="PEM key of the certificate")] = None
    username: Annotated[
        str | None, Meta(description="who may read /metrics, with the password in $PRISM_METRICS_PASSWORD; none: all")
    ] = None
    heartbeat_limit_s: Annotated[
        float, Meta(ge=1.0, le=3600.0, description="/healthz answers 503 once the event loop has been stuck this long")
    ] = 10.0
