"""An economy of nations: its state, and the actions that change it."""

from prism.models import Action, GlobalState, NationState, SimulationState, is_economic

__all__ = ["Action", "GlobalState", "NationState", "SimulationState", "is_economic"]
