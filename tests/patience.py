"""The longest time that a test waits for another thread or another process."""

from __future__ import annotations

HANG_S = 120.0
"""Only a hang takes this long, on any machine under any load. Less than the limit of pytest itself."""
