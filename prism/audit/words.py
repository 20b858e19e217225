"""An audit in sentences: its findings, and the paragraph for a paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from prism.audit.record import WORST, Audit, Claim
from prism.audit.shift import LEAST, Estimate, Shift
from prism.wording import counted, without_place

MOVED: Final = "The answers depend on the "
VERDICTS: Final[Mapping[str, tuple[str, str]]] = {
    "survives": ("survives", "survive"),
    "cannot tell": ("cannot be judged", "cannot be judged"),
    "weakens": ("weakens", "weaken"),
    "turns": ("turns into its opposite", "turn into their opposites"),
}
"""`{verdict: the verb for one claim, and for several}`."""


def interval(found: Estimate, digits: int = 1, unit: str = "") -> str:
    """Return a number with its interval, if it has one: `12.0 (4.1 to 19.9)`, or `12.0% (4.1 to 19.9)`."""
    ends = "" if found.low is None or found.high is None else f" ({found.low:.{digits}f} to {found.high:.{digits}f})"
    return f"{found.value:.{digits}f}{unit}{ends}"


def shift_in_words(shift: Shift) -> str:
    largest = shift.largest
    if largest is None:
        return f"{shift.what}: nothing was answered"
    if abs(largest.points.value) >= shift.turned.value:
        said = f"{largest.option} shifted by {interval(largest.points)} points, from {largest.before:.1%}"
    else:
        said = f"{interval(shift.turned)} points of the answers turned"
    return f"{shift.what}: {said}"


def findings_of(audit: Audit) -> Iterator[str]:
    """Yield what the audit has found against the study, a sentence each."""
    for shift in audit.shifts:
        if shift.finding == "moves":
            yield f"{MOVED}{shift_in_words(shift)}."
    for each in audit.positions:
        if each.finding == "moves":
            yield f"The {each.place} option shown is taken {interval(each.points)} points more often than usual."
    if audit.known is not None and audit.known.knows:
        yield f"The model names the study in {audit.known.named:,} of {audit.known.asked:,} answers."
    if audit.exchange is not None and audit.exchange.moves is False:
        turned = audit.exchange.turned
        if turned.high is not None and turned.high < LEAST:
            few = f"fewer than {LEAST:g} points of them turn beyond chance"
            yield f"The answers do not follow what is seen: with another person's, {few}."
        else:
            turns = "they turn no more often than when the same is asked again"
            yield f"Nothing shows that the answers follow what is seen: with another person's, {turns}."
    if audit.variety is not None and audit.variety.finding in ("varies less", "does not vary"):
        if audit.variety.finding == "does not vary":
            yield f"The answers do not vary: {audit.variety.model.acts:.1%} act."
        else:
            yield f"The model's people differ less from each other than those of {audit.variety.beside_what}."


def examined(audit: Audit) -> Iterator[str]:
    """Yield what each examination besides the shifts has found, whether it speaks for the study or against it."""
    if audit.exchange is not None:
        follows = {None: "the sample is too small to tell whether", False: "nothing shows that", True: "surely"}
        told = follows[audit.exchange.moves]
        yield f"What is seen: {told} the answers follow it (p {_p(audit.exchange.p)})."
    if audit.known is not None and (audit.known.asked or audit.known.missing):
        missing = "".join(f"; {times:,} had no answer: {reason}" for reason, times in audit.known.missing.items())
        named = f"{audit.known.named:,} of {audit.known.asked:,} answers name it{missing}"
        yield f"The study's name: {named if audit.known.words else 'no words to look for; --about gives some'}."
    if audit.ruled is not None:
        turns, otherwise = counted(audit.ruled.questions, "turn"), interval(audit.ruled.turned, 1, "%")
        yield f"Rules: of {turns} that rules settled, the model would settle {otherwise} otherwise."
    if (variety := audit.variety) is not None:
        own, between = f"{variety.model.acts:.1%} of the answers act", interval(variety.model.correlation, 2)
        other = ""
        if (beside := variety.beside) is not None:
            other = f"; with {variety.beside_what} {beside.acts:.1%} and {interval(beside.correlation, 2)}"
        yield f"Variety: {own}, and differences between people make {between} of their variance{other}."
        if (real := variety.calibration) is not None:
            told = f"the model misses by {interval(real.log_loss, 2)} bits, their shares alone by"
            yield f"Real people: of {counted(real.choices, 'choice')}, {told} {real.log_loss_of_shares:.2f}."
    if audit.deciders:
        names = {"embedded": "the embedded choice", "first option": "the chart's first option"}
        agree = (f"{names.get(each.decider, f'the {each.decider}')} {each.agreement:.0%}" for each in audit.deciders)
        yield f"Without the model, the answer would be the same in so many questions: {', '.join(agree)}."


def findings_or_none(audit: Audit) -> list[str]:
    """Return the findings, or one sentence that there are none."""
    if found := [*findings_of(audit)]:
        return found
    unsure = any(each.finding == "cannot tell" for each in audit.shifts)
    small = ", but the sample is too small to exclude a shift that matters" if unsure else ""
    return [f"Nothing was found against the study{small}."]


def paragraph_of(audit: Audit) -> str:
    """Return what a paper may say about the audit."""
    asked = [each for each in audit.shifts if each.questions]
    ways = ", ".join(each.what for each in asked)
    model = without_place(audit.oracle).partition(" by ")[0]
    likely = ", which gave the probability of each option" if "by probabilities" in audit.oracle else ""
    cells = f" in {audit.cells:,} of {counted(len(audit.digests), 'cell')}" if len(audit.digests) > 1 else ""
    first = "We audited the study with PRISM. "
    first += f"Of {counted(audit.recorded, 'recorded question')}{cells} to {model}{likely}, "
    said = [f"{first}a random {audit.sampled:,} were asked again with one thing changed at a time: {ways}"]
    said[0] += f" ({counted(audit.calls, 'call')})."
    if lost := {each.what: sum(each.missing.values()) for each in audit.shifts if each.missing}:
        told = ", ".join(f"{count:,} with another {what}" for what, count in lost.items())
        said.append(f"Some had no answer and are left out: {told}.")
    moved = [each for each in asked if each.finding == "moves"]
    if moved:
        told = "; ".join(f"{shift_in_words(each)} (p {_p(each.p_holm)})" for each in moved)
        said.append(f"Answers shifted by {LEAST:g} points or more with another {told}.")
    unsure = [each.what for each in asked if each.finding == "cannot tell"]
    if len(unsure) == len(asked):
        said.append(f"The sample is too small to tell whether answers shift by {LEAST:g} points or more.")
    elif not moved:
        said.append(f"No shift of answers by {LEAST:g} points or more was found.")
    if unsure and len(unsure) < len(asked):
        said.append(f"The sample is too small to exclude one with another {', '.join(unsure)}.")
    said += [each for each in findings_of(audit) if not each.startswith(MOVED)]
    parts = []
    for verdict in reversed(WORST):
        claims = [each for each in audit.claims if each.verdict == verdict]
        if claims:
            told = "; ".join(f"{each.claim}{_decided(each)}" for each in claims)
            parts.append(f"{counted(len(claims), 'claim')} {VERDICTS[verdict][len(claims) > 1]}: {told}")
    if parts:
        said.append(f"Carried to the outcome in {audit.futures:,} futures under shared draws: {'. '.join(parts)}.")
    return " ".join(said)


def _decided(claim: Claim) -> str:
    if not claim.is_supported:
        return " (undecided in the study itself)"
    said = "undecided with another" if claim.verdict == "cannot tell" else "decided by the"
    return f" ({said} {claim.decided_by})" if claim.decided_by else ""


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.2g}"
