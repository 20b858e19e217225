"""How long a test waits for what another thread or another process does."""

from __future__ import annotations

HANG_S = 120.0
"""Only what hangs takes so long, on any machine and whatever else that does. Less than the limit of pytest itself."""
