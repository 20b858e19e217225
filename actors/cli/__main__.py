"""`python -m actors.cli` is `prism`."""

from actors.cli import main

main()
