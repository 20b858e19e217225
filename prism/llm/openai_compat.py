"""A model on any server with OpenAI's `/v1/chat/completions`: vLLM, llama.cpp, LM Studio, hosted ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import httpx

from prism.config.model import LLMConfig
from prism.llm.failure import LLMFailureException
from prism.llm.letters import OPENAI_FORMS
from prism.llm.model_client import FREE, ModelClient, messages_of
from prism.llm.port import ChatRequest

CHAT: Final = "/chat/completions"
NOTES: Final = {
    "json_schema": "answers are kept to the schema",
    "json_object": "answers are kept to JSON; the schema stands in the prompt",
    FREE: "answers are kept to nothing; the schema stands in the prompt and JSON is looked for in the text",
}


class OpenAICompatClient(ModelClient):
    """A language model behind `/v1/chat/completions`; the host may end in `/v1`."""

    component = "openai"
    dialects = ("json_schema", "json_object", FREE)
    forms = OPENAI_FORMS

    def __init__(self, config: LLMConfig, environment: Mapping[str, str] | None = None) -> None:
        super().__init__(config, environment)
        base = self._host.removesuffix(CHAT)  # the host may be the whole address of the chat, and may end in /v1
        self._host = base.removesuffix("/v1")
        is_whole_without_v1 = base == self._host != self._address.host
        self._path = config.request.path or (CHAT if is_whole_without_v1 else f"/v1{CHAT}")
        base = self._host if self._gateway is None else self._gateway.base
        self._http = httpx.AsyncClient(base_url=base, **self._options_of_http())

    def _body(self, request: ChatRequest, dialect: str, limit: int, temperature: float) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": request.model or self._config.model,
            "messages": messages_of(request.messages, request.schema, dialect),
            "temperature": temperature,
            "seed": request.sampling_seed,
            "max_tokens": limit,
            "stream": False,
        }
        if request.schema is not None and dialect == "json_schema":
            holder = {"name": "answer", "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": holder}
        elif request.schema is not None and dialect == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    async def _look_up(self) -> tuple[str, list[str] | None]:
        """Return the models that stand beside the chat, if it is at a usual place."""
        if not self._path.endswith(CHAT):
            return "", None
        try:
            response = await self._get(f"{self._path.removesuffix(CHAT)}/models")
            return "", [str(each["id"]) for each in response.json()["data"]]
        except (LLMFailureException, KeyError, TypeError, ValueError):
            return "", None

    async def _choice_note(self) -> str:
        return f"{NOTES[self._dialect]}; {await super()._choice_note()}"
