"""Shared judgements: one distribution for many like questions, with an audit of the error."""

from prism.sharing.archetype import Archetypes, Judged, default_groupings, grouping
from prism.sharing.table import Basis, Place, Role, SharingTable

__all__ = ["Archetypes", "Basis", "Judged", "Place", "Role", "SharingTable", "default_groupings", "grouping"]
