"""A few processes that are the ranks of a gloo group, for tests of `lapwing.distributed`.

They are forked from a server that has PyTorch loaded, and serve many tests: a group takes longer to make than most
problems to solve. They run a function of a module that they can import, with plain arguments.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import sys
import time
import traceback
from datetime import timedelta

import pytest


def _serve(rank, size, store, timeout, pipe):
    import torch.distributed as dist

    dist.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=size, timeout=timedelta(seconds=timeout)
    )
    while True:
        try:
            function, arguments, options = pipe.recv()
        except EOFError:
            return
        try:
            answer = (True, function(rank, *arguments, **options))
        except BaseException as error:
            error.__cause__ = error.__context__ = None
            answer = (False, (error, traceback.format_exc()))
        try:
            pipe.send(answer)
        except (TypeError, AttributeError, ValueError) as error:
            pipe.send((False, (RuntimeError(f"the answer cannot be sent: {error}: {answer}"), "")))


class Ranks:
    """So many ranks; a context manager.

    ``run(function, *arguments)`` calls ``function(rank, *arguments)`` on every rank, and returns their answers, or the
    errors that they raised.
    """

    def __init__(self, size, folder, timeout=60):
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["torch.distributed.tensor", "lapwing.distributed"])
        ends = [context.Pipe() for _ in range(size)]
        self.pipes = [ours for ours, _ in ends]
        self.processes = [
            context.Process(target=_serve, args=(rank, size, os.fspath(folder / "store"), timeout, theirs), daemon=True)
            for rank, (_, theirs) in enumerate(ends)
        ]
        for process, (_, theirs) in zip(self.processes, ends, strict=True):
            process.start()
            theirs.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for pipe in self.pipes:
            pipe.close()
        for process in self.processes:
            process.kill()  # at its end, gloo may wait for ranks that are gone
        for process in self.processes:
            process.join()

    def begin(self, function, *arguments, **options):
        for pipe in self.pipes:
            pipe.send((function, arguments, options))

    def end(self, ranks=None, within=60):
        """The answer of each of these ranks, or the error it raised."""
        answers = []
        deadline = time.monotonic() + within
        for rank in range(len(self.pipes)) if ranks is None else ranks:
            assert self.pipes[rank].poll(max(0, deadline - time.monotonic())), f"rank {rank} does not answer"
            fine, answer = self.pipes[rank].recv()
            if not fine and os.environ.get("LAPWING_TEST_TRACES"):
                print(f"rank {rank}:\n{answer[1]}", file=sys.stderr)
            answers.append(answer if fine else answer[0])
        return answers

    def run(self, function, *arguments, **options):
        self.begin(function, *arguments, **options)
        return self.end()


def require_ranks():
    """Skip where there can be none."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    if "forkserver" not in multiprocessing.get_all_start_methods():
        pytest.skip("no fork server on this system")
