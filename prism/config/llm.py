"""The settings of a language model: the server, the model, its sampling, and the longest time of a call."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from prism.config.section import Section


class LLMConfig(Section, frozen=True, kw_only=True):
    """The language model behind the oracle: its server and its sampling. See docs/llm-clients.md."""

    host: Annotated[
        str,
        Meta(
            min_length=1, description="address of the server; for OpenAI-compatible ones such as http://127.0.0.1:8000"
        ),
    ] = "http://127.0.0.1:11434"
    model: Annotated[str, Meta(min_length=1, description="name of the model, as the server lists it")] = "llama3.2"
    temperature: Annotated[
        float, Meta(ge=0.0, le=2.0, description="spread of the answers; at 0 equal questions have one answer")
    ] = 0.7
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1, description="the seeds of all calls follow from it")] = 0
    num_predict: Annotated[int, Meta(ge=1, le=131_072, description="most tokens of an answer")] = 64
    num_ctx: Annotated[
        int, Meta(ge=256, le=2**20, description="tokens of prompt and answer together; ollama loads the model for it")
    ] = 2048
    keep_alive: Annotated[
        str, Meta(min_length=1, description="how long ollama keeps the model in memory after a call: 30m, 24h, -1m")
    ] = "30m"
    timeout_s: Annotated[float, Meta(gt=0.0, le=3600.0, description="longest a call may take, to its last byte")] = 60.0
    api_key_env: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="environment variable with the key; never the key itself"
        ),
    ] = "PRISM_LLM_API_KEY"
    systemone: Annotated[
        Literal["auto", "off"], Meta(description="auto: ask ollama for probabilities where it offers them; off: chat")
    ] = "auto"
