"""The context window: a prompt that may not fit is refused, because Ollama would cut it without a word."""

from __future__ import annotations

from collections.abc import Iterable

_ASCII_BYTES_PER_TOKEN = 3
_OTHER_BYTES_PER_TOKEN = 2
"""Few bytes for a token, so that the estimate is rather too high: English has 4 to 5, Chinese 3, Russian 4, emoji 2."""

_TURN_TOKENS = 8
"""The tokens of a chat's template around one message."""

_STEP = 1024


class PromptTooLongError(ValueError):
    """A prompt that may not fit into the context window together with its answer.

    Args:
        answer_tokens: the longest answer.
    """

    def __init__(self, prompt_tokens: int, answer_tokens: int, num_ctx: int) -> None:
        self.prompt_tokens = prompt_tokens
        self.answer_tokens = answer_tokens
        self.num_ctx = num_ctx
        enough = -(-min(prompt_tokens + answer_tokens, 2 * prompt_tokens) // _STEP) * _STEP
        super().__init__(
            f"a prompt of about {prompt_tokens} tokens and an answer of up to {answer_tokens} do not fit into "
            f"llm.num_ctx {num_ctx}, and ollama would cut the prompt silently; set llm.num_ctx={enough}"
        )


def refuse_too_long(texts: Iterable[str], answer_tokens: int, num_ctx: int) -> None:
    """Refuse a chat that may not fit with its answer, for which up to half of the window is kept.

    Args:
        answer_tokens: the longest answer. It may be set far above any real one, so more than half is not kept.

    Raises:
        PromptTooLongError: it may not.
    """
    prompt_tokens = sum(_TURN_TOKENS + most_tokens(text) for text in texts)
    if prompt_tokens + min(answer_tokens, num_ctx // 2) > num_ctx:
        raise PromptTooLongError(prompt_tokens, answer_tokens, num_ctx)


def most_tokens(text: str) -> int:
    """Return the tokens that a text takes at most, as an estimate: tokenizers differ, and none is asked."""
    size = len(text.encode(errors="replace"))
    ascii_size = size if text.isascii() else sum(char < "\x80" for char in text)
    return -(-ascii_size // _ASCII_BYTES_PER_TOKEN) - (-(size - ascii_size) // _OTHER_BYTES_PER_TOKEN)
