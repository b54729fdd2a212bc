"""``lapwing solve FILE``."""

from __future__ import annotations

import json
import time
from typing import Any

import click

import lapwing
from lapwing.atomic import check_output
from lapwing.checkpoint import Checkpoint
from lapwing.cli.failures import EXIT_CODES_HELP, ExitCode
from lapwing.cli.options import Given, Request, answer_options, checkpoint_interval_option, problem_options
from lapwing.cli.watch import watched
from lapwing.files import write
from lapwing.files.write import as_dict, writer_of
from lapwing.result import Result

_SHOWN_ROWS = 20  # an assignment of up to this many rows is printed
_STAGES = ("solve_seconds", "certify_seconds")


@click.command(
    help=f"""Solve the problem in FILE exactly and print the answer's certificate.

FILE is .npy, .npz, .csv (or a table with tabs, semicolons or spaces), Matrix Market (.mtx), DIMACS "p asn", or
OR-Library, dense or sparse; - is standard input. Pairs that a sparse file leaves out are forbidden. In the answer, rows
and columns are counted from 0.

With --metric, FILE and TARGETS hold points, one a row, of the rows and of the columns. If they are tables with a
header (CSV, TSV, Parquet), --x names the columns of the coordinates, and --id that of the points' names.

{EXIT_CODES_HELP}"""
)
@problem_options
@answer_options
@click.option(
    "--checkpoint", type=click.Path(dir_okay=False), help="Write what there is to this .npz file, now and then."
)
@checkpoint_interval_option
def solve(request: Request, checkpoint: str | None, checkpoint_interval: float, **wanted: Any) -> None:
    kept = None if checkpoint is None else Checkpoint(checkpoint, checkpoint_interval, request.note)
    answer(request, kept, **wanted)


def answer(
    request: Request,
    checkpoint: Checkpoint | None,
    as_json: bool,
    time_limit: float | None,
    progress: bool,
) -> None:
    """Solve what was asked for, and give the answer as `answer_options` say."""
    output, duals = request.output, request.duals
    if output is not None:
        writer_of(output)
        check_output(output, request.file, request.targets, None if checkpoint is None else checkpoint.path)
    if checkpoint is not None:
        check_output(checkpoint.path, request.file, request.targets)
    start = time.perf_counter()
    problem = request.read()
    read_seconds = time.perf_counter() - start
    described = _described(problem, read_seconds)
    try:
        with watched(progress) as watch:
            result = lapwing.solve(
                problem.cost, **request.options, time_limit=time_limit, progress=watch, checkpoint=checkpoint
            )
    except lapwing.InfeasibleError as error:
        if as_json:
            proof = {"status": "infeasible", "hall_rows": error.rows.tolist(), "hall_cols": error.cols.tolist()}
            click.echo(json.dumps(described | proof))
        raise
    if output is not None:
        write(output, result, duals=duals, ids=problem.ids)
    if as_json:
        click.echo(json.dumps(described | as_dict(result, duals, problem.ids), allow_nan=False))
    else:
        _show(problem, result, read_seconds, output)
    click.get_current_context().exit(ExitCode.OPTIMAL if result.status == "optimal" else ExitCode.TIME_LIMIT)


def _described(problem: Given, read_seconds: float) -> dict[str, Any]:
    rows, cols = problem.cost.shape
    return {
        "file": problem.source,
        "format": problem.format,
        "rows": rows,
        "cols": cols,
        "dtype": str(problem.cost.dtype),
        "maximize": problem.maximize,
        "read_seconds": read_seconds,
    }


def _show(problem: Given, result: Result, read_seconds: float, output: str | None) -> None:
    rows, cols = problem.cost.shape
    timed = {name.removesuffix("_seconds"): value for name, value in result.statistics.items() if name in _STAGES}
    times = ", ".join(f"{name} {seconds:.3f} s" for name, seconds in ({"read": read_seconds} | timed).items())
    free = int((result.row_to_col < 0).sum())
    lines = {
        "problem": f"{rows} x {cols} {problem.cost.dtype} from {problem.source} ({problem.format}), "
        + ("maximised" if problem.maximize else "minimised"),
        "status": "optimal" if result.status == "optimal" else "stopped at the time limit",
        "objective": f"{result.objective}",
        "bound": f"{result.lower_bound}",
        "certificate": str(result.certificate),
        "matched": f"{rows - free} rows, {free} free",
        "method": f"{result.plan.method}, {result.plan.where}",
        "time": times,
    }
    if result.status == "optimal":
        del lines["bound"]
    if output is not None:
        lines["written to"] = output
    click.echo("\n".join(f"{name + ':':<13}{text}" for name, text in lines.items()))
    if output is None and rows > _SHOWN_ROWS:
        click.echo("assignment:  not shown; use --output FILE or --json")
    elif output is None:
        row_ids, col_ids = problem.ids or (range(rows), range(cols))
        cols_of_rows = enumerate(result.row_to_col.tolist())
        pairs = (f"{row_ids[row]} -> {col_ids[col] if col >= 0 else 'free'}" for row, col in cols_of_rows)
        click.echo("assignment:  " + ", ".join(pairs))
