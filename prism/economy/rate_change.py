"""The change of the interest rate that the text of an action asks for.

Only words about an interest rate count: `Cut the tax rate by 2%` does not count. A clause reaches from its verb to
the next one, so in `Lower interest rates by 0.5% and raise spending by 3%` the rate falls by half a point. The time is
proportional to the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

_UP: Final = (
    r"rais(?:e[sd]?|ing)|increas(?:e[sd]?|ing)|hik(?:e[sd]?|ing)|lift(?:s|ed|ing)?|tighten(?:s|ed|ing)?|higher"
    r"|boost(?:s|ed|ing)?|elevat(?:e[sd]?|ing)|bump(?:s|ed|ing)?|r(?:ise[sn]?|ose|ising)"
)
_DOWN: Final = (
    r"lower(?:s|ed|ing)?|cut(?:s|ting)?|reduc(?:e[sd]?|ing|tions?)|decreas(?:e[sd]?|ing)|eas(?:e[sd]?|ing)"
    r"|fall(?:s|ing)?|loosen(?:s|ed|ing)?|drop(?:s|ped|ping)?|slash(?:es|ed|ing)?|trim(?:s|med|ming)?|shav(?:e[sd]?|ing)"
    r"|par(?:e[sd]?|ing)|chop(?:s|ped|ping)?|declin(?:e[sd]?|ing)|relax(?:es|ed|ing)?"
)
_HOLD: Final = (
    r"hold(?:s|ing)?|keep(?:s|ing)?|maintain(?:s|ed|ing)?|leav(?:es?|ing)|unchanged|fr(?:eez(?:es?|ing)|ozen)"
)
_MOVE: Final = (
    r"(?:bring|push|pull|put|driv|tak|mov|nudg|step|scal|adjust|chang|shift|go)(?:e?s|e|ed|d|ing|ting|ping)?|brought"
)
_NOT: Final = (
    r"(?:not|never|cannot)\b(?! only\b| hesitat)|\w{2,6}n['\u2019]t\b(?! only\b| hesitat)"
    r"|(?:without|rather than|instead of|avoid(?:s|ing)?|refrain(?:s|ing)? from|abstain(?:s|ing)? from|stop(?:s|ping)?"
    r"|rul(?:e|es|ing) out|oppos(?:e|es|ing)|hold(?:s|ing)? off(?: on)?|delay(?:s|ing)?|postpon(?:e|es|ing))"
    r"(?= (?:\w+ )?\w+ing\b| (?:an?|any|further|more)\b)"
    r"|no (?:more |further |interest |policy )*(?=rates?\b|hikes?\b|increases?\b|cuts?\b|rises?\b|reductions?\b|change)"
)
_DIGITS: Final = r"-?\d{1,4}(?:\.\d{1,10})?"
_WORDED: Final = (
    r"three[ -]quarters?|(?:one[ -]|a )?(?:quarter|half)|two|three|five|ten|twenty(?:[ -]five)?|fifty|seventy[ -]five"
    r"|(?:one |a )?hundred|(?:one|a)(?= (?:full |whole )?percentage\b| (?:full|whole) point)"
)
_UNIT: Final = (
    r" ?(?:of )?(?:an? )?(?:(?:full|whole) )?-?"
    r"(?:basis[ -]points?\b|bps?\b|%|per ?cent(?:age)?(?:[ -]points?)?\b|points?\b|ppt?s?\b)"
)
_AMOUNT: Final = (
    rf"(?<![\w.])(?:(?P<low>{_DIGITS}|(?:{_WORDED})(?!-))(?P<low_unit>{_UNIT})?"
    rf"(?: ?[-\u2013\u2014] ?| to | and | or ))?(?P<high>{_DIGITS}|{_WORDED})(?P<unit>{_UNIT})"
)
_TOKEN: Final = re.compile(
    rf"(?P<amount>{_AMOUNT})|\b(?:(?P<deny>{_NOT})|(?P<up>{_UP})|(?P<down>{_DOWN})|(?P<hold>{_HOLD})"
    rf"|(?P<set>set(?:s|ting)?)|(?P<move>{_MOVE})|(?P<rate>rates?)|(?P<upwards>up(?:wards?)?)|(?P<downwards>down(?:wards?)?)"
    r"|(?P<them>them|it)|(?P<modal>should|must|shall|will|would|can|could|may|might|ought|are|is|has|have|need))\b"
    r"|(?P<end>[.;!?](?= |$))",
    re.IGNORECASE,
)
_VERBS: Final = frozenset({"up", "down", "hold", "set", "move"})
_OTHER_RATES: Final = re.compile(
    r"tax\w*|exchange|tariff|inflation|growth|(?:un)?employment|savings?|birth|participation|vat|poverty|crime|payroll",
    re.IGNORECASE,
)
_WORDS: Final = {
    "quarter": 0.25,
    "half": 0.5,
    "three quarter": 0.75,
    "a": 1.0,
    "one": 1.0,
    "two": 2.0,
    "three": 3.0,
    "five": 5.0,
    "ten": 10.0,
    "twenty": 20.0,
    "twenty five": 25.0,
    "fifty": 50.0,
    "seventy five": 75.0,
    "hundred": 100.0,
}
_DIRECTIONS: Final = frozenset({"up", "down", "upwards", "downwards"})
_FILLERS: Final = frozenset(
    (
        *("a", "an", "about", "another", "approximately", "around", "as", "at", "between", "further", "just", "least"),
        *("more", "most", "much", "nearly", "no", "only", "roughly", "some", "than"),
    )
)
_NEAR: Final = 60
"""The characters before a place that are looked at: a few words."""
_NEGATED_WORDS: Final = 4
"""The words between a negation and its verb, at most."""
_RANGE_RATIO: Final = 3.0
"""Of two amounts with units after `by`, the second is a level if it is more than so many times the first."""


class RateChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the interest rate, as far as an action states it.

    Args:
        direction: 1 for up, -1 for down, 0 for neither.
        points: the number of percentage points, 0 or more, the middle of a range; None if the action does not say.
        level: the rate that the action names, in percent, which then decides alone; None if it names none.
    """

    direction: int
    points: float | None = None
    level: float | None = None


class _Token(NamedTuple):
    """A word or an amount that counts, of one kind, with its place in the text."""

    kind: str
    start: int
    end: int
    found: re.Match[str]


def read_rate_change(action: str) -> RateChange | None:
    """Return the change of the interest rate that an action asks for; None if it is not about that rate.

    A change that an action rejects counts only if the action asks for nothing else: then the rate is held.
    """
    text = " ".join(action.replace("\n", " ; ").split())
    is_named = is_denied = False
    for sentence in _sentences(text):
        verbs, tried = _verbs(sentence), set[int]()
        for place, token in enumerate(sentence):
            if not (_is_rate(text, token) or (is_named and token.kind == "them")):
                continue
            verb = verbs[place]
            if verb is None or verb in tried:
                continue
            tried.add(verb)
            if _is_negated(text, sentence, verb, place):
                is_named, is_denied = True, is_denied or sentence[verb].kind != "hold"
            elif (change := _change(text, sentence, verb, place)) is not None:
                return change
    return RateChange(direction=0) if is_denied else None


def _sentences(text: str) -> list[list[_Token]]:
    sentences: list[list[_Token]] = [[]]
    for found in _TOKEN.finditer(text):
        kind = "amount" if found["amount"] else str(found.lastgroup)
        if kind == "end":
            sentences.append([])
        else:
            sentences[-1].append(_Token(kind, found.start(), found.end(), found))
    return sentences


def _is_rate(text: str, token: _Token) -> bool:
    if token.kind != "rate":
        return False
    words = text[max(0, token.start - _NEAR) : token.start].split()
    return not words or _OTHER_RATES.fullmatch(words[-1]) is None


def _verbs(sentence: Sequence[_Token]) -> list[int | None]:
    """Return for each place the place of the verb that belongs to a rate there: the last before it, or the first after.

    If the verb after the rate is passive, it is that one, as in `rates should be raised`.
    """
    before: list[int | None] = []
    latest: int | None = None
    for place, token in enumerate(sentence):
        before.append(latest)
        latest = place if token.kind in _VERBS else latest
    chosen = list(before)
    following: int | None = None
    for place in range(len(sentence) - 1, -1, -1):
        is_passive = place + 1 < len(sentence) and sentence[place + 1].kind == "modal"
        if before[place] is None or (is_passive and following is not None):
            chosen[place] = following
        following = place if sentence[place].kind in _VERBS else following
    return chosen


def _is_negated(text: str, sentence: Sequence[_Token], verb: int, rate: int) -> bool:
    """Return whether the verb is negated, or the rate alone, as in `Raise taxes, not interest rates`."""
    first = min(verb, rate)
    for token in sentence[max(0, first - 1) : max(verb, rate)]:
        if token.kind == "deny":
            target = verb if token.start < sentence[verb].start else rate
            between = text[token.end : sentence[target].start]
            if "," not in between and len(between.split()) <= _NEGATED_WORDS:
                return True
    return False


def _change(text: str, sentence: Sequence[_Token], verb: int, rate: int) -> RateChange | None:
    kind, rest = sentence[verb].kind, _rest(sentence, verb, rate)
    if kind == "hold":
        return RateChange(direction=0)
    direction = {"up": 1, "down": -1}.get(kind, 0)
    if kind == "move":
        direction = next((1 if each.kind.startswith("up") else -1 for each in rest if each.kind in _DIRECTIONS), 0)
    points, level = _amounts(text, rest, is_level=kind == "set")
    if level is not None:
        return RateChange(direction=direction, level=level)
    if direction == 0:  # the sign says which way; without an amount nothing does
        return None if points is None else RateChange(direction=-1 if points < 0.0 else 1, points=abs(points))
    return RateChange(direction=direction, points=None if points is None else abs(points))


def _rest(sentence: Sequence[_Token], verb: int, rate: int) -> list[_Token]:
    """Return the clause without its verb: all up to the next verb, and all before the rate if its verb comes later."""
    end = max(verb, rate) + 1
    if sentence[verb].kind == "move" and end < len(sentence) and sentence[end].kind in _DIRECTIONS:
        end += 1  # `bring rates lower`: no verb of its own
    while end < len(sentence) and sentence[end].kind not in _VERBS:
        end += 1
    start = verb if verb < rate else 0
    if start > 0 and sentence[start - 1].kind == "amount" and sentence[start - 1].end + 1 == sentence[start].start:
        start -= 1  # `a 25 basis point hike in the rate`
    return [each for place, each in enumerate(sentence[start:end], start) if place != verb]


def _amounts(text: str, clause: Sequence[_Token], *, is_level: bool) -> tuple[float | None, float | None]:
    points: float | None = None
    for token in clause:
        if token.kind != "amount":
            continue
        low, high, is_range = _ends(token.found)
        marker = _marker(text, token.start)
        if marker == "from":
            if is_range:
                return None, high
        elif is_level or marker == "to":
            return None, (low + high) / 2.0
        elif is_range and token.found["low_unit"] and abs(high) > _RANGE_RATIO * abs(low):
            return None, high
        elif points is None:
            points = (low + high) / 2.0
    return points, None


def _ends(amount: re.Match[str]) -> tuple[float, float, bool]:
    """Return the two ends of an amount in percentage points, and whether they are written as two."""
    unit = amount["unit"]
    high = _number(amount["high"], unit)
    if amount["low"] is None:
        return high, high, False
    return _number(amount["low"], amount["low_unit"] or unit), high, True


def _number(text: str, unit: str) -> float:
    words = re.sub(r"^(?:one|a) (?=.)|s$", "", text.lower().replace("-", " ").strip())
    number = _WORDS[words] if words in _WORDS else float(text)
    return number / 100.0 if "b" in unit.lower() else number


def _marker(text: str, start: int) -> str:
    """Return the preposition of an amount that begins there: by, to, from; empty if there is none."""
    words = text[max(0, start - _NEAR) : start].lower().split()
    while words and words[-1] in _FILLERS:
        words.pop()
    if words[-2:] in (["up", "to"], ["down", "to"]) and words[-3:-2] == ["by"]:
        return "by"
    return words[-1] if words and words[-1] in {"by", "to", "from"} else ""
