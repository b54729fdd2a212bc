"""What do the tables of the papers look like on this machine? `lapwing papers`, kept in results/papers/.

`--short` runs the small instances, two minutes, into build/bench/papers/; other arguments are those of `lapwing
papers`.
"""

from __future__ import annotations

import sys

from benchmarks.harness import RESULTS, ROOT
from lapwing.cli.main import main

if __name__ == "__main__":
    short = "--short" in sys.argv
    given = [argument for argument in sys.argv[1:] if argument != "--short"]
    folder = ROOT / "build" / "bench" / "papers" if short else RESULTS / "papers"
    main(["papers", *(["--small"] if short else []), "--output", str(folder), *given])
