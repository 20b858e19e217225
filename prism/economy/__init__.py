"""An economy of nations: its state, and the actions that change it."""

from prism.economy.action import Action, is_economic
from prism.economy.state import GlobalState, NationState, SimulationState

__all__ = ["Action", "GlobalState", "NationState", "SimulationState", "is_economic"]
