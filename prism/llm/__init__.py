"""Language models: one interface, its adapters, a tape of their answers, and the oracle and client that ask them."""

from typing import TYPE_CHECKING

from prism.config.model import LLMConfig
from prism.llm.client import Call, LLMClient
from prism.llm.failure import REASONS, LLMFailureException, Reason
from prism.llm.oracle import ModelOracle, SocialModelOracle
from prism.llm.port import (
    ChatRequest,
    ChoiceRequest,
    Completion,
    Distribution,
    Health,
    Identity,
    LanguageModel,
    Message,
)
from prism.llm.schema import schema_of
from prism.llm.statistics import OUTCOMES, OracleStatistics, Outcome
from prism.llm.tape import Tape, TapeError, TapeMissError
from prism.llm.taped_model import TapedModel

if TYPE_CHECKING:
    from prism.llm.ollama import OllamaChatClient
    from prism.llm.openai_compat import OpenAICompatClient

__all__ = [
    "OUTCOMES",
    "REASONS",
    "Call",
    "ChatRequest",
    "ChoiceRequest",
    "Completion",
    "Distribution",
    "Health",
    "Identity",
    "LLMClient",
    "LLMConfig",
    "LLMFailureException",
    "LanguageModel",
    "Message",
    "ModelOracle",
    "OllamaChatClient",
    "OpenAICompatClient",
    "OracleStatistics",
    "Outcome",
    "Reason",
    "SocialModelOracle",
    "Tape",
    "TapeError",
    "TapeMissError",
    "TapedModel",
    "schema_of",
]


def __getattr__(name: str) -> object:
    """Return an adapter, imported at first use: HTTP clients take 0.2 s, and all configurations import this package."""
    if name == "OllamaChatClient":
        from prism.llm.ollama import OllamaChatClient  # noqa: PLC0415

        return OllamaChatClient
    if name == "OpenAICompatClient":
        from prism.llm.openai_compat import OpenAICompatClient  # noqa: PLC0415

        return OpenAICompatClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
