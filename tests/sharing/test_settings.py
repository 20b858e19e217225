"""The calls that a judgement takes, by what a configuration says of its server."""

from __future__ import annotations
