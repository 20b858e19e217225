"""A model behind the gateway of an experiment: the questions that go there, and the replies that come back."""

from __future__ import annotations

import socket
from time import perf_counter

import httpx
import msgspec

from prism.config.model import LLMConfig
from prism.errors import OracleUnavailableError
from prism.llm.backend import Backend, log_prompt
from prism.llm.failure import LLMFailureException
from prism.llm.gateway import Gateway
from prism.llm.http import LIMITS
from prism.llm.port import ChatRequest, ChoiceRequest, Completion, Distribution, Health, Identity, Undecided
from prism.llm.question_id import ASKED, Asked
from prism.llm.tape import Failed, NotOffered
from prism.statechart.oracle import ATTEMPT

CONNECT_S = 10.0
# A command that was killed resets its connections. One whose machine is gone is noticed by TCP: after a minute of
# silence, and five probes in 10 s each without an answer.
_ALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 5))
        if hasattr(socket, name)
    ),
]


class Put(msgspec.Struct, frozen=True, kw_only=True):
    """A question on its way to a gateway.

    Args:
        service, cell: as in `Gateway`.
        within_s: the time that its call may take.
        attempt: the number of unusable answers that it has had.
        request: the question; None for the check of the model.
        asked: names the question to the server; None outside of a run.
    """

    service: str
    cell: str
    within_s: float
    attempt: int = 0
    request: ChatRequest | ChoiceRequest | None = None
    asked: Asked | None = None


class Checked(msgspec.Struct, frozen=True, kw_only=True, tag="checked"):
    """The outcome of a check."""

    health: Health
    identity: Identity


class Unavailable(msgspec.Struct, frozen=True, kw_only=True, tag="unavailable"):
    """The end of a cell's run: no check succeeds, the budget is spent, or the tape has no answer.

    Args:
        detail: the line about it.
        failure: the failed call behind it, if there was one.
    """

    detail: str
    failure: Failed | None = None


Reply = Completion | Distribution | Undecided | NotOffered | Failed | Checked | Unavailable

_replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
_encode = msgspec.msgpack.Encoder().encode


class GatewayModel(Backend):
    """A model that a gateway asks. It needs no secret: the gateway has them.

    Args:
        component: `oracle.backend`.
    """

    def __init__(self, config: LLMConfig, component: str, gateway: Gateway) -> None:
        super().__init__(config)
        self.component = component
        self._gateway = gateway
        self._found: Identity | None = None
        # Only silence ends a request: the wait for a place at the gateway is no part of the call.
        self._http = httpx.AsyncClient(
            headers={"Authorization": f"Bearer {gateway.token}"},
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            transport=httpx.AsyncHTTPTransport(limits=LIMITS, trust_env=False, socket_options=_ALIVE),
        )

    @property
    def identity(self) -> Identity:
        return self._found or super().identity

    async def complete(self, request: ChatRequest) -> Completion:
        found = await self._ask(request)
        if not isinstance(found, Completion):
            raise TypeError(found)
        return found

    async def choose(self, request: ChoiceRequest) -> Distribution | Undecided | None:
        if not self.identity.method:
            return None
        found = await self._ask(request)
        if isinstance(found, NotOffered):
            return None
        if not isinstance(found, Distribution | Undecided):
            raise TypeError(found)
        return found

    async def check(self) -> Health:
        try:
            found = await self._ask(None)
        except LLMFailureException as error:
            message = f"the gateway at {self._gateway.address} does not answer: {error.detail}"
            raise OracleUnavailableError(message) from error
        if not isinstance(found, Checked):
            raise TypeError(found)
        self._found = found.identity
        return found.health

    async def _ask(self, request: ChatRequest | ChoiceRequest | None) -> Reply:
        asked, gateway, started_s = ASKED.get(), self._gateway, perf_counter()
        if request is not None:
            log_prompt(request)
        put = Put(
            service=gateway.service,
            cell=gateway.cell,
            within_s=gateway.deadline_s,
            attempt=ATTEMPT.get(),
            request=request,
            asked=asked,
        )
        try:
            response = await self._http.post(gateway.address, content=_encode(put))
            found = _replies.decode(response.raise_for_status().content)
        except (httpx.HTTPError, msgspec.DecodeError) as error:
            raise LLMFailureException(
                "connection_error",
                component="gateway",
                detail=str(error) or type(error).__name__,
                latency_s=perf_counter() - started_s,
            ) from None
        if asked is not None:
            asked.requests += 1
        if isinstance(found, Failed):
            raise found.error()
        if isinstance(found, Unavailable):
            cause = None if found.failure is None else found.failure.error()
            raise OracleUnavailableError(found.detail) from cause
        return found

    async def aclose(self) -> None:
        await self._http.aclose()
