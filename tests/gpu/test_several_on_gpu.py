"""Several real GPUs of a host: one process, and a process for each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.core import sharded_solver
from lapwing.gpu.core.sharded_solver import ShardPart
from lapwing.gpu.kinds import choose
from lapwing.gpu.reference import sharded_ssp

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available() or torch.cuda.device_count() < 2, reason="needs two GPUs"),
]
COUNT = min(torch.cuda.device_count(), 8)
GPUS = [f"cuda:{k}" for k in range(COUNT)]


@pytest.fixture(autouse=True)
def any_size(monkeypatch):
    """Matrices of any size are shared out."""
    monkeypatch.setattr(choose, "LEAST_SHARDED_BYTES", 0)


def costs(kind, n=1500):
    random = np.random.default_rng(1)
    if kind == "uniform":
        return random.random((n, n), np.float32)
    x, y = random.random((2, n, 2))
    return ((x[:, None] - y) ** 2).sum(-1).astype(np.float32)


def on_the_gpus(cost):
    """Blocks of rows, the first of another size than the others."""
    ends = [700 + k * (len(cost) - 700) // (COUNT - 1) for k in range(COUNT - 1)]
    return [torch.from_numpy(part).to(gpu) for part, gpu in zip(np.split(cost, ends), GPUS, strict=True)]


@pytest.mark.parametrize("kind", ["uniform", "points"])
@pytest.mark.parametrize("maximize", [False, True])
def test_a_matrix_of_the_host(kind, maximize):
    cost = costs(kind)
    result = lw.solve(cost, device=GPUS, maximize=maximize)
    assert result.plan.device == ",".join(GPUS) and result.certificate.complete
    assert result.objective == lw.solve(cost, device="cuda", maximize=maximize).objective


@pytest.mark.parametrize("kind", ["uniform", "points"])
def test_blocks_on_the_gpus(kind):
    cost = costs(kind)
    blocks = on_the_gpus(cost)
    result = lw.solve(lw.costs.sharded(blocks))
    assert result.row_to_col.device == torch.device("cuda:0")
    assert result.objective == lw.solve(cost).objective
    again = lw.solve(lw.costs.sharded(blocks), start=result)
    assert again.objective == result.objective


@pytest.mark.parametrize("kind", ["uniform", "points"])
def test_shortest_paths_by_all_gpus(kind):
    cost = costs(kind)
    one = lw.solve(cost, device="cuda")
    result = lw.solve(lw.costs.sharded(on_the_gpus(cost)), method="ssp")
    assert result.plan.method == "ssp" and result.certificate.complete
    assert result.objective == one.objective and result.row_to_col.device == torch.device("cuda:0")
    wide = np.round(costs(kind, 2050) * 1000).astype(np.int32)
    assert lw.solve(wide, device=GPUS, method=lw.Ssp(pricing=False)).objective == lw.solve(wide).objective


def test_shortest_paths_that_are_stopped_or_have_no_end(monkeypatch):
    cost = costs("points")
    stopped = lw.solve(cost, device=GPUS, method="ssp", time_limit=0.02)
    assert stopped.status == "time_limit" and stopped.certificate.complete
    assert stopped.lower_bound <= lw.solve(cost).objective <= stopped.objective
    launched = sharded_ssp.launch_cluster

    def fail(context, *arguments):
        if context.info.ordinal == 0:
            launched(context, *arguments)

    with monkeypatch.context() as patched:  # a GPU that never sends a letter
        patched.setattr(sharded_ssp, "launch_cluster", fail)
        assert lw.solve(cost, device=GPUS, method="ssp", time_limit=1.0).status == "time_limit"
    cost[800] = np.inf
    with pytest.raises(lw.InfeasibleError) as raised:
        lw.solve(cost, device=GPUS, method="ssp")
    assert raised.value.rows.tolist() == [800]
    assert lw.solve(cost, device="cuda", infeasible="partial").status == "partial"


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_gpus_list_their_rows_again(dtype, maximize):
    cost = (1e6 * costs("points", 9000)).astype(dtype)
    one = lw.solve(cost, device="cuda", maximize=maximize)
    result = lw.solve(cost, device=GPUS, maximize=maximize)
    assert result.certificate.complete and result.objective == one.objective
    assert result.statistics["listings"] > 1 and result.statistics["refreshes"] > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_samples_in_shards(monkeypatch, dtype):
    cost = (1e6 * costs("points", 9000)).astype(dtype)
    one = lw.solve(cost, device="cuda")
    monkeypatch.setattr(sharded_solver, "_SHARED_SAMPLE", 400)
    for given in ({"cost": cost, "device": GPUS}, {"cost": lw.costs.sharded(on_the_gpus(cost))}):
        result = lw.solve(**given)
        assert result.certificate.complete and result.objective == one.objective
        assert result.statistics["levels"] > 1


def test_a_gpu_that_does_not_answer(monkeypatch):
    cost = costs("points", 4000)
    monkeypatch.setattr(ShardPart, "serve", lambda *_: None)
    stopped = lw.solve(cost, device=GPUS, time_limit=1.0)
    assert stopped.status == "time_limit" and stopped.certificate.complete
    assert stopped.lower_bound <= lw.solve(cost).objective <= stopped.objective


def test_faults_and_options(tmp_path):
    cost = costs("uniform")
    cost[800] = np.inf
    with pytest.raises(lw.InfeasibleError) as raised:
        lw.solve(cost, device=GPUS)
    assert raised.value.rows.tolist() == [800]
    assert lw.solve(cost, device=GPUS, infeasible="partial").status == "partial"
    cost[800, 3] = np.nan
    with pytest.raises(lw.InvalidCostError, match=r"cost\[800, 3\]"):
        lw.solve(cost, device=GPUS)
    blocks = on_the_gpus(cost)
    forbidden = lw.solve(lw.costs.sharded(blocks), invalid="forbid", infeasible="partial")
    assert forbidden.invalid_pairs.tolist() == [[800, 3]] and forbidden.status == "partial"
    file, cost = tmp_path / "solve.npz", costs("points")
    first = lw.solve(cost, device=GPUS, checkpoint=file)
    assert file.exists() and lw.solve(cost, device="cuda", checkpoint=file).objective == first.objective
    stopped = lw.solve(cost, device=GPUS, time_limit=0.0)
    assert stopped.lower_bound <= first.objective <= stopped.objective


@pytest.mark.parametrize("way", ["peers", "messages"])
@pytest.mark.parametrize("backend", ["nccl", "gloo"])
def test_a_process_for_each(backend, way):
    program = Path(__file__).parents[1] / "support" / "ranks_on_gpus.py"
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={COUNT}"]
    done = subprocess.run([*launch, str(program), backend, way], capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.count("fine") == COUNT
