"""The log of what models are asked: a line at DEBUG for each request that goes to a server."""

from __future__ import annotations

import logging

from prism.llm.port import ChatRequest, ChoiceRequest
from prism.quoting import quoted

_log = logging.getLogger(__name__)


def log_prompt(request: ChatRequest | ChoiceRequest) -> None:
    """Log the text of a request: its messages, or its instructions, situation and options. Without DEBUG do nothing."""
    if not _log.isEnabledFor(logging.DEBUG):  # prompts are long
        return
    if isinstance(request, ChatRequest):
        text = "\n\n".join(message.content for message in request.messages)
    else:
        text = "\n\n".join((request.instructions, request.state, "\n".join(request.options)))
    _log.debug("llm_prompt asked_by=%s prompt=%s", quoted(request.asked_by), quoted(text))
