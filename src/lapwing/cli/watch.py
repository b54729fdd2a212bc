"""A live display of a solve on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lapwing.progress import Progress


@contextmanager
def watched(wanted: bool) -> Iterator[bool | Callable[[Progress], object]]:
    """The value of `progress` for `lapwing.solve`: False, or a function that moves a bar.

    Where standard error is no terminal, `progress=True` prints plain lines instead.
    """
    if not wanted or sys.stderr is None or sys.stderr.closed or not sys.stderr.isatty():
        yield wanted
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display

    display = Display(
        TextColumn("{task.description}"),
        BarColumn(bar_width=10),
        MofNCompleteColumn(),
        TextColumn("{task.fields[bound]}{task.fields[remaining]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with display:
        task = display.add_task("start", total=None, bound="", remaining="")

        def show(progress: Progress) -> None:
            display.update(
                task,
                description=f"{progress.stage} {progress.phase}",
                completed=progress.matched,
                total=progress.rows,
                bound=progress.described_bound(brief=True),
                remaining=progress.described_remaining().replace(" of searches", ""),
            )

        yield show
