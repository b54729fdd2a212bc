"""The command line: parse -> api -> print. `run` is the entry point of ``lapwing`` and ``python -m lapwing``."""

from __future__ import annotations

import errno
import os
import sys

_INTERRUPTED = 130  # ExitCode.INTERRUPTED of failures.py, which needs click


def run() -> None:
    """Run the command that the arguments name; without the extra `cli`, say how to install it."""
    try:
        from lapwing.cli.main import main

        main()
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit("lapwing: the command line needs click and rich: pip install 'lapwing[cli]'")
    except KeyboardInterrupt:  # while modules are imported; commands say so themselves
        print("lapwing: interrupted", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    except OSError as error:  # of the help text, which click prints before any command runs
        if error.errno == errno.EPIPE:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left of it would fail again at the end
        sys.exit(f"lapwing: {error.strerror or error}")
