"""The tests. The package in templates/domain is found as if it were installed: its lights are a domain for tests."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "templates" / "domain"))
