"""The policy rule: the interest rate that inflation and the output gap ask for.

    i = r + p + a (p - p*) + b y

with the neutral real rate r, inflation p, its target p* and the output gap y, all in percent. With a > 0 the rate rises
by more than inflation does, so the real rate leans against it (the Taylor principle); with a < 0 inflation runs away.

Source: Taylor, "Discretion versus policy rules in practice" (1993), with r = p* = 2 and a = b = 0.5. Smoothing, which
his rule has not, is partial adjustment as in Clarida, Gali & Gertler (2000), who find about 0.8 a quarter.
"""

from __future__ import annotations

from prism.config.economy import TaylorConfig


def taylor_rate(inflation: float, output_gap: float, rule: TaylorConfig) -> float:
    """The rate that the rule asks for, in percent; below zero if it says so."""
    return (
        rule.neutral_rate
        + inflation
        + rule.inflation_weight * (inflation - rule.inflation_target)
        + rule.output_weight * output_gap
    )


def policy_rate(asked: float, previous: float, rule: TaylorConfig) -> float:
    """The rate to set where the rule asks for `asked` and `previous` is in force: smoothed, and not below the floor."""
    return max(rule.rate_floor, rule.smoothing * previous + (1.0 - rule.smoothing) * asked)
