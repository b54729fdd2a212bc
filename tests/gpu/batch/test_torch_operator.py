"""Batches of PyTorch's and CuPy's arrays on a real GPU: streams, graphs, compilation, and every size."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.gpu.batch.api import solve_batch
from lapwing.gpu.batch.plan import Crossovers

pytestmark = [pytest.mark.gpu, pytest.mark.filterwarnings("ignore")]  # PyTorch warns of itself


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def uniform(torch, *shape, seed=0, dtype=None):
    return torch.rand(shape, generator=torch.Generator("cuda").manual_seed(seed), device="cuda", dtype=dtype)


def expected_objectives(costs, **options):
    return np.array([lw.solve(cost, certify=False, **options).objective for cost in costs.cpu().numpy()])


def assert_same_objectives(answer, costs, **options):
    assert not answer.status.any()
    expected = expected_objectives(costs, **options)
    assert np.allclose(answer.objective.cpu().numpy(), expected, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("n", range(1, 71))
def test_every_square_size(torch, n):
    costs = uniform(torch, 8, n, n, seed=n)
    assert_same_objectives(solve_batch(costs), costs)
    ties = (costs * 3).floor()
    assert_same_objectives(solve_batch(ties, maximize=True), ties, maximize=True)


@pytest.mark.parametrize("m", range(1, 41))
def test_every_rectangular_size(torch, m):
    for n in range(1, 41):
        costs = uniform(torch, 3, m, n, seed=100 * m + n)
        assert_same_objectives(solve_batch(costs), costs)


@pytest.mark.parametrize("n", [96, 97, 100, 127, 128, 129, 160, 199, 239, 240, 241, 255, 256, 257, 300, 511, 512, 513])
@pytest.mark.parametrize("kind", ["uniform", "geometric", "ties", "product"])
def test_sizes_around_the_crossovers(torch, n, kind):
    costs = uniform(torch, 4, n, n, seed=n)
    if kind == "geometric":
        costs = torch.cdist(uniform(torch, 4, n, 2, seed=n), uniform(torch, 4, n, 2, seed=n + 1)) ** 2
    elif kind == "ties":
        costs = (costs * 4).floor()
    elif kind == "product":
        costs = (costs[:, :, :1] - 2 * costs[:, :1]) ** 2
    assert_same_objectives(solve_batch(costs), costs)


@pytest.mark.parametrize(
    "shape",
    [(1023, 1023), (1024, 1024), (1025, 1025), (1000, 1500), (2047, 2048), (2048, 2048), (2049, 2049), (300, 4096),
     (4096, 60)],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize("whole_gpu", [1024, 5000])
def test_large(torch, monkeypatch, shape, dtype, whole_gpu):
    monkeypatch.setattr("lapwing.gpu.batch.solve.CROSSOVERS", Crossovers(whole_gpu=whole_gpu))
    costs = uniform(torch, 2, *shape)
    costs = (costs * 1000).to(torch.int32) if dtype == "int32" else costs.to(getattr(torch, dtype))
    answer = solve_batch(costs, duals=True)
    assert_same_objectives(answer, costs)
    for b, cost in enumerate(costs.cpu().numpy()):
        parts = (answer.row_to_col[b], answer.u[b], answer.v[b])
        certificate = lw.certify(cost, *(part.cpu().numpy() for part in parts))
        assert certificate.exact


def test_nothing_waits_and_any_stream_will_do(torch):
    stream = torch.cuda.Stream()
    counts = [30, 20, 10, 5]
    with torch.cuda.stream(stream):
        for compiled in (False, True):
            costs = uniform(torch, 4, 40, 40)
            torch.cuda.set_sync_debug_mode("error")
            try:
                torch.cuda._sleep(200_000_000)
                costs += 1
                answer = solve_batch(costs, unmatched_cost=0.5, row_counts=counts, duals=True)
                assert not compiled or not stream.query()  # still asleep
            finally:
                torch.cuda.set_sync_debug_mode("default")
    stream.synchronize()
    assert (answer.row_to_col == -1).all() and answer.objective.tolist() == [0.5 * count for count in counts]


def test_graph_replayed_with_other_costs(torch):
    for shape in ((64, 16, 16), (8, 60, 60), (4, 300, 300), (1, 1100, 1100)):
        costs = uniform(torch, *shape)
        staged = costs.transpose(1, 2)
        solve_batch(costs, duals=True)  # compiles
        solve_batch(staged)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            answer = solve_batch(costs, duals=True)
            other = solve_batch(staged)
        for seed in range(3):
            costs.copy_(uniform(torch, *shape, seed=seed))
            graph.replay()
            torch.cuda.synchronize()
            assert_same_objectives(answer, costs)
            assert torch.allclose(other.objective, answer.objective, rtol=1e-13)


def test_operator_and_compilation(torch):
    costs = uniform(torch, 6, 20, 24)
    op = lw.register_torch_operator()
    torch.library.opcheck(
        op, (costs,), {"maximize": True, "duals": True}, test_utils=("test_schema", "test_faketensor")
    )

    @torch.compile(fullgraph=True)
    def loss(costs):
        answer = lw.solve_batch(costs)
        return lw.matched_costs(costs, answer.row_to_col).sum() + 0 * answer.objective.sum()

    leaf = costs.clone().requires_grad_()
    value = loss(leaf)
    value.backward()
    expected = solve_batch(costs)
    assert value.item() == pytest.approx(expected.objective.sum().item(), rel=1e-6)
    assert leaf.grad.sum().item() == 6 * 20 and set(leaf.grad.unique().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_compiled_prices_of_columns(torch, dtype):
    """The host solves; answers and gradients are on the GPU, in compiled code, too."""
    from lapwing.torch import assignment_cost

    costs = (9 * uniform(torch, 4, 7, 9)).to(getattr(torch, dtype))
    prices = torch.full((7,), 3, device="cuda"), torch.arange(36, device="cuda").reshape(4, 9) % 4

    def solved(costs):
        return lw.solve_batch(costs, unmatched_cost=prices, duals=True), assignment_cost(costs, unmatched_cost=prices)

    found, total = torch.compile(solved, fullgraph=True, backend="aot_eager")(costs)
    on_host = lw.solve_batch(costs.cpu(), unmatched_cost=tuple(each.cpu() for each in prices), certify=True)
    assert all(certificate.bound < 1e-12 for certificate in on_host.certificates)
    for name in ("row_to_col", "col_to_row", "objective", "status", "u", "v"):
        assert getattr(found, name).is_cuda and torch.equal(getattr(found, name).cpu(), getattr(on_host, name))
    assert torch.allclose(total.cpu().double(), on_host.objective.double(), rtol=1e-6)
    options = {"unmatched_cost": prices[0].to(costs.dtype), "unmatched_cols": prices[1].to(costs.dtype)}
    torch.library.opcheck(
        lw.register_torch_operator(), (costs,), options, test_utils=("test_schema", "test_faketensor")
    )
    if costs.dtype.is_floating_point:
        leaf = costs.requires_grad_()
        assignment_cost(leaf, unmatched_cost=prices).sum().backward()
        assert leaf.grad.sum() == (found.row_to_col >= 0).sum()


def test_gradients_and_pairs(torch):
    costs = uniform(torch, 3, 7, 5, dtype=torch.float64).requires_grad_()
    answer = solve_batch(costs)
    assert torch.autograd.gradcheck(lambda c: lw.matched_costs(c, answer.row_to_col), costs)
    rows, cols = lw.matched_pairs(answer.row_to_col, 5)
    picked = costs[torch.arange(3, device="cuda")[:, None], rows, cols].sum(1)
    assert torch.allclose(picked, answer.objective)


def test_same_answer_every_time(torch):
    for shape in ((500, 20, 20), (100, 90, 90), (20, 300, 300)):
        costs = (uniform(torch, *shape) * 5).floor()
        first = solve_batch(costs, duals=True)
        for _ in range(3):
            again = solve_batch(costs, duals=True)
            for name in ("row_to_col", "objective", "status", "u", "v"):
                assert torch.equal(getattr(first, name), getattr(again, name))


def test_bfloat16_and_half(torch):
    for dtype in (torch.bfloat16, torch.float16):
        for n in (20, 60, 300):
            costs = uniform(torch, 3, n, n).to(dtype)
            assert_same_objectives(solve_batch(costs), costs.float())


def test_certificates(torch):
    for shape in ((50, 20, 20), (20, 60, 50), (4, 300, 310)):
        certificate = solve_batch(uniform(torch, *shape), certify=True).certificate
        assert certificate.exact.all()


def test_cupy(torch):
    cupy = pytest.importorskip("cupy")
    costs = cupy.random.default_rng(0).random((5, 30, 40), dtype=cupy.float32)
    answer = solve_batch(costs.transpose(0, 2, 1), unmatched_cost=cupy.full(40, 0.3), row_counts=[40, 30, 20, 10, 0])
    assert isinstance(answer.row_to_col, cupy.ndarray) and answer.row_to_col.dtype == cupy.int64
    host = cupy.asnumpy(costs).transpose(0, 2, 1)
    expected = [lw.solve(c[:m], unmatched_cost=0.3).objective for c, m in zip(host, [40, 30, 20, 10, 0], strict=True)]
    assert np.allclose(cupy.asnumpy(answer.objective), expected, rtol=1e-13)
    rows, _ = lw.matched_pairs(answer.row_to_col, 30)
    assert isinstance(rows, cupy.ndarray)


def test_many_tiny(torch):
    costs = uniform(torch, 100_003, 8, 8)
    answer = solve_batch(costs)
    chosen = slice(None, None, 1009)
    expected = expected_objectives(costs[chosen])
    assert np.allclose(answer.objective[chosen].cpu().numpy(), expected, rtol=1e-13)
    assert (answer.row_to_col.sort(1).values == torch.arange(8, device="cuda")).all()


def test_the_public_function_takes_arrays_on_a_gpu(torch):
    costs = uniform(torch, 5, 12, 9)
    assert_same_objectives(lw.solve_batch(costs), costs)
    assert lw.solve_batch(costs, duals=True).v.shape == (5, 9)


@pytest.mark.parametrize("shape", [(2, 4097, 4097), (2, 40, 5000), (1, 5000, 40)])
def test_too_large_for_a_block(torch, shape):
    costs = uniform(torch, *shape)
    answer = lw.solve_batch(costs, certify=True)
    assert_same_objectives(answer, costs)
    assert answer.certificate.exact.all() and answer.row_to_col.is_cuda and answer.u.shape == shape[:2]
    priced = lw.solve_batch(costs, unmatched_cost=0.001, row_counts=[30] * shape[0], col_counts=[40] * shape[0])
    assert_same_objectives(priced, costs[:, :30, :40], unmatched_cost=0.001)


def test_the_same_code_as_on_a_cpu(torch):
    from lapwing.torch import assignment_cost

    def step(costs, counts):
        batch = lw.solve_batch(costs, unmatched_cost=0.9, col_counts=counts, duals=True)
        loss = assignment_cost(costs, unmatched_cost=0.9, col_counts=counts)
        return (
            loss,
            batch.row_to_col,
            batch.row_ind,
            batch.col_to_row,
            batch[0].pairs,
            [len(b.free_rows) for b in batch],
        )

    leaves = [torch.rand((5, 7, 9), generator=torch.Generator().manual_seed(3)) for _ in range(2)]
    leaves[1] = leaves[1].cuda()
    found = []
    for leaf in leaves:
        leaf.requires_grad_()
        answer = step(leaf, torch.tensor([9, 8, 5, 3, 0], device=leaf.device))
        answer[0].sum().backward()
        found.append([part.cpu().tolist() if isinstance(part, torch.Tensor) else part for part in (*answer, leaf.grad)])
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-6) and found[0][1:] == found[1][1:]
    compiled = torch.compile(lambda costs: assignment_cost(costs).sum(), fullgraph=True)
    assert compiled(leaves[1]).item() == pytest.approx(lw.solve_batch(leaves[0]).objective.sum().item(), rel=1e-6)


def test_from_the_host_and_back(torch):
    costs = torch.rand((50, 20, 24), generator=torch.Generator().manual_seed(4))
    batch = lw.solve_batch(costs, device="cuda", certify=True)
    assert batch.row_to_col.device.type == "cpu" and batch.certificate.exact.all()
    assert_same_objectives(batch, costs)
    with pytest.raises(lw.ArgumentError, match="costs are on GPU 0"):
        lw.solve_batch(costs.cuda(), device="cuda:1")
    with pytest.raises(lw.ArgumentError, match="copy it to the host first"):
        lw.solve_batch(costs.cuda(), device="cpu")
