"""The command line: parse -> api -> print. `run` is the entry point of ``lapwing`` and ``python -m lapwing``."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command that the arguments name; without the extra `cli`, say how to install it."""
    try:
        from lapwing.cli.main import main
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit("lapwing: the command line needs click and rich: pip install 'lapwing[cli]'")
    main()
