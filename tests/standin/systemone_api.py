"""The route /v1/systemone: typed questions about a state, answered with a probability for each option.

Source: Ollama (since 0.35), decision/systemone.go and docs/api/systemone; the `ollama` package's SystemOneRequest.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from tests.standin.answers import WRONG_STATE, Reply
from tests.standin.completions import Ask, Completion, count_tokens
from tests.standin.decode import decode
from tests.standin.draw import key_of, share_for
from tests.standin.errors import ApiError
from tests.standin.models import full_name
from tests.standin.settings import ServerSettings, SystemOne
from tests.standin.wire import Response, as_json

_BODY_LIMIT = 64 << 10
_SHARPNESS = 4.0

Question = Mapping[str, object]


class SystemOneApi:
    """/v1/systemone: one JSON object, never streamed, and no seed: the same question has the same answer."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings

    def parse(self, body: bytes) -> Ask:
        """Return the call.

        Raises:
            ApiError: the request is wrong.
        """
        if len(body) > _BODY_LIMIT:
            raise ApiError(413, "request body too large")
        found = decode(body, "Request", {"model": "string", "questions": "map"})
        name = str(found.get("model") or "").strip()
        if not name:
            raise ApiError(400, "model is required")
        if full_name(name) not in map(full_name, self._settings.models):
            raise ApiError(404, f"model '{name}' not found")
        if self._settings.systemone is SystemOne.UNSUITED:
            raise ApiError(400, f"registry.ollama.ai/library/{full_name(name)} does not support decision")
        questions = found.get("questions")
        if not isinstance(questions, dict) or not 1 <= len(questions) <= 64:
            raise ApiError(400, "questions must contain 1\u201364 fields")
        state = _text(found.get("state"), "state: must be a string, object, or array")
        if not state.strip():
            raise ApiError(400, "state must not be empty")
        for label, question in questions.items():
            _check(label, question)
        return Ask(model=name, messages=({"role": "user", "content": state},), questions=questions)

    def say(self, ask: Ask, nonce: object, reply: Reply | None) -> str:
        """Return the answers as JSON; a reply hook names the choice, which then gets nearly all the probability."""
        key = key_of(str(ask.messages[0]["content"]), nonce)
        answers: dict[str, object] = {}
        for label, question in ask.questions.items():
            options = list(_options(question))
            weights = [math.exp(_SHARPNESS * share_for(key, question, option)) for option in options]
            if self._settings.weigh is not None:
                weights = list(self._settings.weigh(str(ask.messages[0]["content"]), options))
            if reply is not None:
                chosen = reply(ask.messages, {}, question)
                weights = [99.0 * (len(options) - 1) if option == chosen else 1.0 for option in options]
            shares = (weight / sum(weights) for weight in weights)
            answers[label] = _answer(question, dict(zip(options, shares, strict=True)))
        return json.dumps(answers)

    def say_wrong(self, ask: Ask) -> str:
        """Return a choice that no criterion names."""
        answer = {"type": "choice", "choice": WRONG_STATE, "probabilities": {WRONG_STATE: 1.0}, "confidence": 1.0}
        return json.dumps(dict.fromkeys(ask.questions, answer))

    def render(self, ask: Ask, completion: Completion) -> Response:
        """Return the answers; content without answers is sent unchanged."""
        try:
            answers = json.loads(completion.content or "{}")
        except ValueError:
            return Response(body=completion.content.encode())
        asked = sum(completion.prompt_tokens + count_tokens(repr(question)) for question in ask.questions.values())
        usage = {"input_tokens": asked, "output_tokens": len(ask.questions)}
        return as_json({"model": ask.model, "answers": answers if completion.done else {}, "usage": usage})

    def render_error(self, status: int, message: str) -> Response:
        """Return the response of a refusal."""
        return as_json({"error": message}, status)


def _check(label: str, question: object) -> None:
    where = f'question "{label}": '
    if not isinstance(question, dict):
        raise ApiError(400, f"{where}must be an object")
    wrong = f"{where}instructions must be a nonempty string, object, or array"
    if not _text(question.get("instructions"), wrong).strip():
        raise ApiError(400, wrong)
    kind, criteria = question.get("type"), question.get("criteria")
    if kind not in ("choice", "noul", "score"):
        raise ApiError(400, f"{where}type must be choice, noul, or score")
    if kind == "choice" and not isinstance(criteria, dict):
        raise ApiError(400, f"{where}choice criteria must map option keys to descriptions or null")
    if kind == "score" and not isinstance(criteria, list):
        raise ApiError(400, f"{where}score criteria must be an array of descriptions")
    if not 2 <= len(_options(question)) <= 26:
        raise ApiError(400, f"{where}criteria must contain 2\u201326 candidates")


def _options(question: Question) -> dict[str, object]:
    """Return the option keys of a question, in order, with their descriptions."""
    criteria = question.get("criteria")
    if question.get("type") == "noul":
        given = criteria if isinstance(criteria, dict) else {}
        return {"false": "No", "true": "Yes", **given}
    if isinstance(criteria, list):
        return {str(i): text for i, text in enumerate(criteria)}
    return criteria if isinstance(criteria, dict) else {}


def _answer(question: Question, shares: Mapping[str, float]) -> dict[str, object]:
    kind = question["type"]
    if kind == "noul":
        return {"type": kind, "noul": shares["true"]}
    entropy = -sum(share * math.log(share) for share in shares.values() if share > 0)
    confidence = min(max(1 - entropy / math.log(len(shares)), 0.0), 1.0)
    rest = {"probabilities": dict(shares), "confidence": confidence}
    if kind == "choice":
        return {"type": kind, "choice": max(shares, key=lambda key: shares[key]), **rest}
    mean = sum(int(key) * share for key, share in shares.items())
    return {"type": kind, "score": mean, "legend": _options(question), **rest}


def _text(value: object, wrong: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        return json.dumps(value, separators=(",", ":"))
    raise ApiError(400, wrong)
