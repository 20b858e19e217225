"""Audits of studies: the shift of answers that are asked for in other ways, and the verdict on each claim."""

from prism.audit.choices import ChoiceModel, Recorded, fitted, tilted
from prism.audit.claims import Carried, Claim, Verdict, carried
from prism.audit.known import ASK_STUDY, UNKNOWN, Known, known_of, stems, wilson
from prism.audit.record import Audit, Decider
from prism.audit.shift import (
    Asked,
    Estimate,
    Exchange,
    OptionShift,
    Position,
    Shift,
    exchange_of,
    judged,
    positions_of,
    shift_of,
)
from prism.audit.variety import Calibration, Spread, Variety, calibration_of, variety_of
from prism.audit.words import findings_of, findings_or_none, paragraph_of

__all__ = [
    "ASK_STUDY",
    "UNKNOWN",
    "Asked",
    "Audit",
    "Calibration",
    "Carried",
    "ChoiceModel",
    "Claim",
    "Decider",
    "Estimate",
    "Exchange",
    "Known",
    "OptionShift",
    "Position",
    "Recorded",
    "Shift",
    "Spread",
    "Variety",
    "Verdict",
    "calibration_of",
    "carried",
    "exchange_of",
    "findings_of",
    "findings_or_none",
    "fitted",
    "judged",
    "known_of",
    "paragraph_of",
    "positions_of",
    "shift_of",
    "stems",
    "tilted",
    "variety_of",
    "wilson",
]
