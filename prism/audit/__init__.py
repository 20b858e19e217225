"""Audits of studies: the shift of answers that are asked for in other ways, and the verdict on each claim."""

from prism.audit.choices import ChoiceModel, Recorded, fitted, tilted
from prism.audit.claims import Claim, carried
from prism.audit.known import Known, known_of, stems, wilson
from prism.audit.record import Audit, Decider, judged
from prism.audit.shift import (
    Asked,
    Estimate,
    Exchange,
    Position,
    Shift,
    exchange_of,
    followed,
    positions_of,
    shift_of,
)
from prism.audit.variety import Calibration, Variety, calibration_of, variety_of
from prism.audit.words import examined, findings_of, findings_or_none, paragraph_of

__all__ = [
    "Asked",
    "Audit",
    "Calibration",
    "ChoiceModel",
    "Claim",
    "Decider",
    "Estimate",
    "Exchange",
    "Known",
    "Position",
    "Recorded",
    "Shift",
    "Variety",
    "calibration_of",
    "carried",
    "examined",
    "exchange_of",
    "findings_of",
    "findings_or_none",
    "fitted",
    "followed",
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
