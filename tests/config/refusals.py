"""The message of a refusal, and the keys that it lists."""

import pytest

from prism.config import load_config
from prism.errors import ConfigError

GRAPH = (
    "kind, path, directed, columns, separator, header, degree, exponent, following_exponent, blocks, mixing, "
    "rewiring, homophily"
)


def refusal(text: str | None, environment: dict[str, str] | None = None, *overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_config(text, "c.yaml", environment=environment or {}, overrides=overrides)
    return str(caught.value)
