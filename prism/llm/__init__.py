"""Language models: one interface, its adapters, a tape of their answers, and the oracle and client that ask them."""

from typing import TYPE_CHECKING

from prism.config.model import LLMConfig
from prism.imports import lazy_names
from prism.llm.client import LLMClient, schema_of
from prism.llm.failure import REASONS, LLMFailureException
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
from prism.llm.spending import OUTCOMES, OracleStatistics
from prism.llm.tape import Tape, TapedModel, TapeError, TapeMissError

if TYPE_CHECKING:
    from prism.llm.ollama import OllamaChatClient
    from prism.llm.openai_compat import OpenAICompatClient

__all__ = [
    "OUTCOMES",
    "REASONS",
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
    "SocialModelOracle",
    "Tape",
    "TapeError",
    "TapeMissError",
    "TapedModel",
    "schema_of",
]

if not TYPE_CHECKING:  # HTTP clients take 0.2 s to import, and most runs need none
    __getattr__, __dir__ = lazy_names(
        __name__, {"prism.llm.ollama": ("OllamaChatClient",), "prism.llm.openai_compat": ("OpenAICompatClient",)}
    )
