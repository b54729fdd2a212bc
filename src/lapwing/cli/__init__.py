"""The command line: parse -> api -> print. `main` is the entry point of ``lapwing`` and ``python -m lapwing``."""

from lapwing.cli.main import main

__all__ = ["main"]
