"""Models with a known fault, for audits: each answers as a person of a feed would, but for its fault."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

Messages = Sequence[Mapping[str, object]]
FAULTS: Final[Mapping[str, str]] = {
    "first": "takes the first option that is shown",
    "persona": "acts more if the person is described in a list",
    "wording": "acts where it would not, and the other way around, in other words",
    "knows": "names what is being studied",
    "ignores": "answers by the person alone, whatever is seen",
    "constant": "never acts",
}
"""`{fault: what the model does}`."""
SOUND: Final[Mapping[str, str]] = {"sound": "acts about as often as not", "seldom": "acts seldom"}
STUDY: Final = "This studies how the ranking algorithm of a feed drives cascades."
_QUOTED: Final = re.compile(r'"([^"]*)"')


def unit(*key: object) -> float:
    """Return a number from 0 to 1 that looks random, the same for the same key."""
    return int.from_bytes(blake2b(repr(key).encode(), digest_size=7).digest(), "big") / 2.0**56


def utility(text: str) -> float:
    """Return how much a person wants to act on what is seen, by what a model is told of both, in either format."""
    topics = _QUOTED.findall(" ".join(re.findall(r"It is about ([^.]*)\.|topics: (.*)", text)[0]))
    interests = _QUOTED.findall(" ".join(re.findall(r"interested in ([^.]*)\.|interests: (.*)", text)[0]))
    follows = "whom you follow" in text or bool(re.search(r'you follow the author: "?yes', text))
    shared = bool({*topics} & {*interests})
    appeal = 10.0 * (unit("appeal", topics[0]) - 0.5) if topics else 0.0
    return -2.5 + 1.2 * follows + 1.5 * shared + appeal + 1.5 * (unit(_QUOTED.findall(text)[0]) - 0.5)


def planted(fault: str) -> Callable[[Messages, Mapping[str, object], object], str]:
    """Return the answers of a model with a fault, or of a sound one, for `ServerSettings.reply`."""

    def reply(messages: Messages, options: Mapping[str, object], form: object) -> str:
        text = "\n".join(str(each["content"]) for each in messages)
        fields: dict[str, Any] = form.get("properties", {}) if isinstance(form, dict) else {}
        allowed = [each.get("enum") for each in fields.values()]
        if "choice" not in fields or allowed == [None]:
            if allowed and allowed[0]:  # the check of a server at the start
                return json.dumps(dict.fromkeys(fields, allowed[0][0]))
            if "answer" in fields:
                named = fault == "knows" and unit(text, "study") < 0.6
                return json.dumps({"answer": STUDY if named else "unknown"})
            return json.dumps({name: 10 + 10 * (not place) for place, name in enumerate(fields)})
        shown: list[str] = allowed[0]
        if fault == "first":
            return json.dumps({"choice": shown[0]})
        user = str(messages[-1]["content"])
        said = _QUOTED.findall(user)
        drawn = unit(text, options.get("seed")) if options.get("temperature") else unit(said[0], max(said, key=len))
        wants = utility(user) - 2.5 * (fault == "seldom")
        if "Task:" in text:  # a sound model, too, is a little moved by other words
            wants = -wants if fault == "wording" else wants + 0.1
        if fault == "persona":
            wants += 2.5 * bool(re.search(r"^- name:", text, re.MULTILINE))
        elif fault == "ignores":
            wants = 3.0 * (unit(said[0]) - 0.5)
            drawn = drawn if options.get("temperature") else unit(said[0])
        elif fault == "constant":
            wants = -20.0
        passive, *acts = sorted(shown, key=lambda each: ("scroll" not in each.lower(), each))
        # Above temperature 0 each asking is left to chance; at 0 the person and the post decide.
        chance = 1.0 / (1.0 + math.exp(-wants))
        if drawn >= chance:
            return json.dumps({"choice": passive})
        place = 0 if drawn < 0.6 * chance else 1 if drawn < 0.85 * chance else 2
        return json.dumps({"choice": acts[min(place, len(acts) - 1)]})

    return reply
