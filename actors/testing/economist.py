"""What a model says of economic policy: proposals, judgements and rates that go with the figures in the prompt.

It reads the prompt as a model would, and knows nothing of the program that wrote it.
"""

import json
import re
from collections.abc import Mapping, Sequence

from actors.testing.draw import number, uniform

__all__ = ["is_asked", "opinion"]

_MILITARY = re.compile(r"\b(?:troops|army|military forces|missiles)\b", re.IGNORECASE)


def is_asked(schema: Mapping[str, object]) -> bool:
    """Whether a schema asks for a policy, a judgement on one, or an interest rate, with the reasons."""
    properties = schema.get("properties")
    return isinstance(properties, dict) and "reasoning" in properties and any(name in properties for name in _SAYS)


def opinion(messages: Sequence[Mapping[str, object]], schema: Mapping[str, object], key: tuple[object, ...]) -> str:
    """The answer as JSON; of the same question under another key, another one."""
    text = "\n".join(str(message.get("content", "")) for message in messages)
    properties = schema.get("properties")
    say = next(say for name, say in _SAYS.items() if isinstance(properties, dict) and name in properties)
    said = say(text, key)
    return json.dumps({**said, "confidence": round(0.5 + 0.5 * uniform("confidence", *key), 2)})


def _policy(text: str, key: tuple[object, ...]) -> dict[str, object]:
    inflation, unemployment, rate = (_figure(text, name) for name in ("Inflation", "Unemployment", "Interest Rate"))
    wish = 2.0 + inflation + 0.5 * (inflation - 2.0) + (5.9 - unemployment) + 2.0 * uniform("mood", *key) - 1.0 - rate
    step = 0.25 * min(4, max(1, round(abs(wish) / 0.25)))
    # Now and then somebody has another idea, economic or not.
    idea = number("idea", *key) % 12
    if idea == 0:
        return {"action": "Deploy military forces", "reasoning": "The border is unsafe, and that is what matters now."}
    if idea == 1:
        return {"action": "Cut the tax on wages by 2%", "reasoning": f"At {unemployment}% unemployment work must pay."}
    verb = "Raise" if wish > 0 else "Lower"
    return {
        "action": f"{verb} interest rates by {step:.2f} percentage points",
        "reasoning": f"Inflation is {inflation}%, unemployment {unemployment}%: a rate of {rate}% does not fit that.",
    }


def _judgement(text: str, _: tuple[object, ...]) -> dict[str, object]:
    action = next(iter(re.findall(r"Proposed action: (.*)", text)), text)
    valid = _MILITARY.search(action) is None
    return {"is_valid": valid, "reasoning": "It is economic policy." if valid else "Nothing in it is economic."}


def _rate(text: str, _: tuple[object, ...]) -> dict[str, object]:
    rate = _figure(text, "Interest Rate")
    found = re.search(r"Validated action: .*?(Raise|Lower) interest rates by ([\d.]+)", text)
    change = 0.0 if found is None else (1.0 if found[1] == "Raise" else -1.0) * float(found[2]) / 3.0
    new = max(0.0, round(rate + change, 2))
    return {"new_interest_rate": new, "reasoning": f"From {rate}%, a third of what is asked for leads to {new}%."}


def _figure(text: str, name: str) -> float:
    found = re.search(rf"{name}: (-?[\d.]+(?:e-?\d+)?)%", text)
    return 0.0 if found is None else float(found[1])


_SAYS = {"action": _policy, "is_valid": _judgement, "new_interest_rate": _rate}
"""What to say, by the field that only such an answer has."""
