"""`python -m mqops.cli`: the command where its script is not on PATH."""

from mqops.cli import main

main()
