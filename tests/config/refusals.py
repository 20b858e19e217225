"""The message of a refusal."""

import pytest

from prism.config import load_config
from prism.errors import ConfigError


def refusal(text: str | None, environment: dict[str, str] | None = None, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(text, "c.yaml", environment=environment or {}, overrides=overrides)
    return str(caught.value)
