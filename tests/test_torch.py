"""The optimal cost as a differentiable function of PyTorch, and batches in compiled code, on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw

torch = pytest.importorskip("torch")
assignment_cost = pytest.importorskip("lapwing.torch").assignment_cost

pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch warns of itself


def uniform(*shape, seed=0, dtype=torch.float64):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def compiled(function):
    """A graph without breaks, run as it is: Inductor's own compiler would take half a minute."""
    return torch.compile(function, fullgraph=True, backend="aot_eager")


@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3), (0, 3), (3, 0)])
@pytest.mark.parametrize("maximize", [False, True])
def test_the_cost_and_its_gradient(shape, maximize):
    costs = uniform(3, *shape).requires_grad_()
    total = assignment_cost(costs, maximize=maximize)
    expected = [lw.solve(cost, maximize=maximize) for cost in costs]
    assert total.shape == (3,) and total.tolist() == pytest.approx([each.objective for each in expected])
    (gradient,) = torch.autograd.grad(total.sum(), costs)
    for b, each in enumerate(expected):
        row_ind, col_ind = each
        assert gradient[b].sum() == len(row_ind) and gradient[b][row_ind, col_ind].all()
    one = assignment_cost(costs[1], maximize=maximize)
    assert one.shape == () and one.item() == total[1].item()


def test_gradients_are_those_of_the_function():
    costs, prices = uniform(3, 4, 5).requires_grad_(), uniform(3, 4, seed=1).requires_grad_()

    def cost_of(costs, prices):
        return assignment_cost(costs, unmatched_cost=prices, row_counts=[4, 3, 0], col_counts=torch.tensor([5, 2, 4]))

    assert torch.autograd.gradcheck(cost_of, (costs, prices))
    options = {"unmatched_cost": prices, "row_counts": [4, 3, 0], "col_counts": [5, 2, 4]}
    assert cost_of(costs, prices).tolist() == pytest.approx(lw.solve_batch(costs, **options).objective.tolist())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("run", [lambda function: function, compiled])
def test_prices_of_columns(dtype, run):
    costs, rows = uniform(3, 4, 5, dtype=dtype).requires_grad_(), uniform(4, seed=1, dtype=dtype).requires_grad_()
    cols, counts = (uniform(3, 5, seed=2, dtype=dtype) - 0.5).requires_grad_(), torch.tensor([5, 2, 4])

    def cost_of(costs, rows, cols):
        return assignment_cost(costs, unmatched_cost=(rows, cols), row_counts=[4, 3, 0], col_counts=counts)

    found = run(cost_of)(costs, rows, cols)
    batch = lw.solve_batch(costs, unmatched_cost=(rows, cols), row_counts=[4, 3, 0], col_counts=counts, certify=True)
    assert all(certificate.bound < 1e-12 for certificate in batch.certificates)
    assert found.tolist() == pytest.approx(batch.objective.tolist(), rel=1e-6)
    of_costs, of_rows, of_cols = torch.autograd.grad(found.sum(), (costs, rows, cols))
    pairs, free_cols = (batch.row_to_col >= 0).sum(1), (batch.col_to_row < 0) & (torch.arange(5) < counts[:, None])
    assert torch.equal(of_costs.sum((1, 2)).long(), pairs) and of_rows.sum() == 7 - pairs.sum()
    assert torch.equal(of_cols, free_cols.to(dtype)) and 0 < free_cols.sum() < free_cols.numel()
    if dtype == torch.float64 and run is not compiled:
        assert torch.autograd.gradcheck(cost_of, (costs, rows, cols))


def test_problems_without_an_answer():
    costs = uniform(3, 4, 4, dtype=torch.float32)
    costs[1, 2] = torch.inf
    costs.requires_grad_()
    with pytest.raises(lw.InfeasibleError):
        assignment_cost(costs)
    total = assignment_cost(costs, check=False)
    assert total.isnan().tolist() == [False, True, False]
    total[[0, 2]].sum().backward()
    assert costs.grad.sum((1, 2)).tolist() == [4, 0, 4]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.int32])
def test_dtypes(dtype):
    costs = (100 * uniform(2, 5, 6)).to(dtype)
    total = dtype if dtype.is_floating_point else torch.int64  # as torch.sum has it
    assert assignment_cost(costs).dtype == total
    assert torch.equal(assignment_cost(costs), lw.solve_batch(costs).objective.to(total))


@pytest.mark.parametrize(
    ("costs", "options", "error", "words"),
    [
        (np.ones((2, 2)), {}, lw.DtypeError, "must be a tensor"),
        (torch.ones(3), {}, lw.ArgumentError, r"\(m, n\) or \(B, m, n\), got shape \(3,\)"),
        (torch.ones(2, 2), {"unmatched_cost": (1.0, None)}, lw.ArgumentError, "None in it"),
    ],
)
def test_refusals(costs, options, error, words):
    with pytest.raises(error, match=words):
        assignment_cost(costs, **options)


@pytest.mark.parametrize("duals", [False, True])
def test_compiled_as_it_is(duals):
    costs = uniform(3, 4, 6, dtype=torch.float32).requires_grad_()
    counts = torch.tensor([6, 5, 3])

    @compiled
    def step(costs):
        batch = lw.solve_batch(costs, unmatched_cost=0.9, col_counts=counts, duals=duals)
        return lw.matched_costs(costs, batch.row_to_col).sum(), batch

    loss, batch = step(costs)
    expected = lw.solve_batch(costs, unmatched_cost=0.9, col_counts=counts, certify=True)
    assert all(certificate.exact for certificate in expected.certificates)
    assert torch.equal(batch.row_to_col, expected.row_to_col) and torch.equal(batch.objective, expected.objective)
    assert torch.equal(batch.col_to_row, expected.col_to_row) and not batch.objective.requires_grad
    assert torch.equal(batch.u, expected.u) and torch.equal(batch.v, expected.v) if duals else batch.u is None
    loss.backward()
    assert costs.grad.sum().item() == (batch.row_to_col >= 0).sum()


def test_compiled_losses_of_any_size():
    loss = torch.compile(lambda costs: assignment_cost(costs).sum(), fullgraph=True, backend="aot_eager", dynamic=True)
    for n in (3, 5, 7):
        costs = uniform(2, n, n + 1, seed=n)
        assert loss(costs).item() == pytest.approx(lw.solve_batch(costs).objective.sum().item())


def test_compiled_code_raises_the_same_errors():
    infeasible = torch.full((2, 3, 3), torch.inf)
    with pytest.raises(lw.InfeasibleError):
        compiled(lambda costs: lw.solve_batch(costs).objective)(infeasible)
    status = compiled(lambda costs: lw.solve_batch(costs, check=False).status)(infeasible)
    assert status.tolist() == [1, 1]
    for options, words in (
        ({"certify": True}, "certify.* not for code that PyTorch compiles"),
        ({"device": "cpu"}, "device.* not for code that PyTorch compiles"),
        ({"unmatched_cost": (1, None)}, "None in it"),
        ({"unmatched_cost": [1.5, 1.5]}, "unmatched_cost has floats, but costs are integers"),
        ({"unmatched_cost": (1, torch.ones(2))}, "unmatched_cost has floats, but costs are integers"),
    ):
        with pytest.raises(Exception, match=words):
            compiled(lambda costs, options=options: lw.solve_batch(costs, **options).objective)(
                torch.ones((1, 2, 2), dtype=torch.int32)
            )


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
@pytest.mark.parametrize("required", [False, True])
def test_compiled_prices_of_rows_and_columns(dtype, required):
    costs, of_cols = (9 * uniform(3, 4, 6)).to(dtype), torch.tensor([3, 2, 1, 0, 5, 4])
    rows = torch.inf if required and dtype.is_floating_point else 4.0
    found = compiled(lambda c: lw.solve_batch(c, unmatched_cost=(rows, of_cols), duals=True))(costs)
    expected = lw.solve_batch(costs, unmatched_cost=(rows, of_cols), certify=True)
    assert all(certificate.complete and certificate.bound < 1e-12 for certificate in expected.certificates)
    for name in ("row_to_col", "col_to_row", "objective", "u", "v"):
        assert torch.equal(getattr(found, name), getattr(expected, name)) and found.objective.dtype == found.u.dtype


def test_the_operator_is_sound():
    operator = lw.register_torch_operator()
    tests = ("test_schema", "test_faketensor", "test_autograd_registration")
    for costs in (uniform(2, 3, 4), torch.ones((2, 3, 4), dtype=torch.int64)):
        options = {"maximize": True, "duals": True}
        torch.library.opcheck(operator, (costs,), options, test_utils=tests)
        prices = {"unmatched_cost": costs[0, :, 0].clone(), "unmatched_cols": costs[0, 0].clone()}
        torch.library.opcheck(operator, (costs,), options | prices, test_utils=tests)


def test_scipys_function_drops_nothing_of_a_tensor():
    rows, cols = lw.linear_sum_assignment(uniform(3, 4).requires_grad_())
    assert (rows.tolist(), len(cols)) == ([0, 1, 2], 3)
    for cost, words in (
        (torch.ones((2, 2), dtype=torch.complex64), "complex"),
        (torch.empty(2, 2, device="meta"), "meta"),
    ):
        with pytest.raises(TypeError, match=words):
            lw.linear_sum_assignment(cost)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: torch.empty(2, 3, 4, device="meta"), "meta tensor.*no values"),
        (lambda: torch.nested.nested_tensor([torch.rand(2, 3), torch.rand(3, 4)]), "nested tensor.*list of its"),
        (lambda: torch.ones((2, 3, 4), dtype=torch.complex64), "real"),
    ],
)
def test_tensors_without_real_values(make, words):
    with pytest.raises(lw.DtypeError, match=words):
        lw.solve_batch(make())


@pytest.mark.parametrize(
    ("costs", "prices", "total"),
    [
        (torch.tensor([[200, 255], [255, 200]], dtype=torch.uint8), None, torch.tensor(400)),
        (torch.full((1, 3, 3), 100, dtype=torch.int8), None, torch.tensor([300])),
        (torch.ones((3, 3), dtype=torch.bool), None, torch.tensor(3)),
        (torch.full((2, 2), 60000, dtype=torch.uint16), None, torch.tensor(120000)),
        (torch.full((2, 2), 2**32 - 1).to(torch.uint64), 7, torch.tensor(14)),
    ],
)
@pytest.mark.parametrize("run", [lambda function: function, compiled])
def test_sums_have_room(costs, prices, total, run):
    found = run(assignment_cost)(costs, unmatched_cost=prices)
    assert found.dtype == total.dtype and torch.equal(found, total)


def test_integers_with_prices_that_are_none():
    found = assignment_cost(torch.tensor([[5, 1], [7, 2]]), unmatched_cost=0.5)
    assert found.dtype == torch.float64 and found.item() == 1


def test_sparse_layouts_are_refused():
    with pytest.raises(lw.DtypeError, match="layout torch.sparse_csr.*to_dense"):
        assignment_cost(torch.eye(3).to_sparse_csr())
    with pytest.raises(lw.DtypeError, match="sparse_bsr.*to_dense"):
        lw.solve(torch.eye(4).to_sparse_bsr((2, 2)), invalid="forbid")


def test_arguments_that_are_tensors_without_values():
    meta = torch.ones(2, device="meta")
    for options in ({"unmatched_cost": meta}, {"start": (meta, torch.ones(2))}):
        with pytest.raises(lw.ArgumentError, match="no array of numbers"):
            lw.solve(np.ones((2, 2)), **options)
    assert lw.certify(np.ones((2, 2)), torch.tensor([0, 1])).exact
