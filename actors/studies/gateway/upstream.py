"""The servers behind a gateway, and one call to one of them."""

from __future__ import annotations

from collections.abc import Collection

import anyio
import httpx
import msgspec

from actors.studies.gateway.service import Service
from actors.studies.gateway.tape import Kept
from prism.llm.body import PLAIN, bound_body
from prism.llm.failure import Usage
from prism.llm.http import LIMITS, redacted
from prism.llm.reply import read_chat, read_completion
from prism.llm.spending import Spent, cost_usd
from prism.llm.tls import verification

FROM_CELL = ("content-type", "accept", "x-request-id", "traceparent")
"""The headers of a cell's request that a server gets."""
TO_CELL = ("retry-after", "date", "location")
"""The headers of a response that a cell gets, besides those of rate limits and the content type."""
CONNECT_S = 10.0


class Upstream:
    def __init__(self, service: Service) -> None:
        self.service = service
        self._client = httpx.AsyncClient(
            params=service.query,
            verify=verification(max(service.origins), service.ca_files),  # an address with https is the largest
            trust_env=False,
            limits=LIMITS,
            timeout=httpx.Timeout(None, connect=CONNECT_S),
        )

    async def call(self, request: Request, key: str) -> Kept:
        """Return what became of a request: a response with any status, or the reason why there is none."""
        kept = Kept(key=key, is_call=request.is_call, asked_by=request.question)
        try:
            with anyio.fail_after(request.within_s):
                return self._priced(await self._sent(request, kept))
        except (TimeoutError, httpx.TimeoutException):
            return _failed(kept, "timeout", f"no whole answer within {request.within_s:g} s", ())
        except (httpx.TransportError, OSError) as error:
            return _failed(kept, "connection_error", str(error) or type(error).__name__, self.service.secrets)
        except (ValueError, httpx.HTTPError, httpx.InvalidURL) as error:
            return _failed(kept, "invalid_response", str(error) or type(error).__name__, self.service.secrets)

    async def _sent(self, request: Request, kept: Kept) -> Kept:
        own = {name.lower() for name in self.service.headers}
        passed = {name: text for name, text in request.headers.items() if name in FROM_CELL and name not in own}
        async with self._client.stream(
            request.method,
            request.place,
            content=request.body or None,
            headers={**PLAIN, **passed, **self.service.headers},
        ) as response:
            bound_body(response)
            body = await response.aread()
            return msgspec.structs.replace(
                kept,
                status=response.status_code,
                kind=response.headers.get("content-type", ""),
                body=redacted(self.service.secrets, body.decode(errors="replace")),
                headers=self._passed_back(response),
            )

    def _passed_back(self, response: httpx.Response) -> dict[str, str]:
        """Return the headers that a client reads, such as the place of a redirect and the time of a retry."""
        if response.is_success:
            return {}
        return {
            name: redacted(self.service.secrets, text)
            for name, text in response.headers.items()
            if name in TO_CELL or "ratelimit" in name
        }

    def _priced(self, kept: Kept) -> Kept:
        if not kept.is_answer or not kept.is_call:
            return kept
        usage = usage_of(kept.body.encode())
        spent = Spent("ok", 1, 0.0, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens)
        return msgspec.structs.replace(
            kept,
            read=usage.prompt_tokens,
            cached=usage.cached_tokens,
            written=usage.completion_tokens,
            usd=cost_usd((spent,), self.service.prices) or 0.0,
        )

    async def aclose(self) -> None:
        await self._client.aclose()


class Request(msgspec.Struct, frozen=True, kw_only=True):
    method: str
    place: str  # the address that it is for
    body: bytes
    headers: dict[str, str]  # by name in lower case
    service: str
    cell: str  # the name of the cell
    process: str
    question: str  # the id of its question; empty for other requests, as in the check of a server
    within_s: float  # the time that the call may take

    @property
    def is_call(self) -> bool:
        """True if it asks a model; other requests, such as for a list of models, cost nothing."""
        return self.method == "POST"


def usage_of(body: bytes) -> Usage:
    """Return the tokens that an answer took, as far as the answer states them."""
    for read in (_systemone, read_completion, read_chat):
        try:
            found = read(body)
        except Exception:  # noqa: BLE001, S112  # anything may come from a server, and the client judges it
            continue
        usage = found if isinstance(found, Usage) else found.usage
        if usage != Usage():
            return usage
    return Usage()


def _systemone(body: bytes) -> Usage:
    found = msgspec.json.decode(body)["usage"]
    return Usage(int(found["input_tokens"]), int(found.get("output_tokens", 0)))


def _failed(kept: Kept, failure: str, detail: str, secrets: Collection[str]) -> Kept:
    return msgspec.structs.replace(kept, failure=failure, body=redacted(secrets, detail))
