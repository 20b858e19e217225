"""The policy rule: the interest rate that follows from inflation and the output gap.

    i = r + p + a (p - p*) + b y

with the neutral real rate r, inflation p, its target p* and the output gap y, all in percent. With a > 0 the rate rises
by more than inflation does, so the real rate leans against it (the Taylor principle); with a < 0 inflation runs away.

Source: Taylor, "Discretion versus policy rules in practice" (1993), with r = p* = 2 and a = b = 0.5. Smoothing, which
his rule does not have, is partial adjustment as in Clarida, Gali & Gertler (2000), who find about 0.8 a quarter.
"""

from __future__ import annotations

from prism.config.model import TaylorConfig


def taylor_rate(inflation: float, output_gap: float, rule: TaylorConfig) -> float:
    """Return the rule's rate, in percent; it may be below zero."""
    return (
        rule.neutral_rate
        + inflation
        + rule.inflation_weight * (inflation - rule.inflation_target)
        + rule.output_weight * output_gap
    )


def policy_rate(rule_rate: float, previous: float, rule: TaylorConfig) -> float:
    """Return the rate to set: between the rule's rate and the previous one by smoothing, and not below the floor."""
    return max(rule.rate_floor, rule.smoothing * previous + (1.0 - rule.smoothing) * rule_rate)
