"""Shared judgements: one distribution for many like questions, with an audit of the error."""

from prism.sharing.archetype import Archetypes, Judged, default_groupings, grouping
from prism.sharing.audit import Audited, corrected_shares, mean_with_interval
from prism.sharing.table import Basis, Place, Role, SharingTable

__all__ = [
    "Archetypes",
    "Audited",
    "Basis",
    "Judged",
    "Place",
    "Role",
    "SharingTable",
    "corrected_shares",
    "default_groupings",
    "grouping",
    "mean_with_interval",
]
