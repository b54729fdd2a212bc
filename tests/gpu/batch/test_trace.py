"""What PyTorch's compiler sees of a batch: one operator, whose answer has the right shapes. It needs no GPU."""

from __future__ import annotations

import pytest

import lapwing as lw
from lapwing.gpu.runtime import arrays

torch = pytest.importorskip("torch")


@pytest.fixture
def traced(monkeypatch):
    """Compile a function for costs that pass for a GPU's, without running it; the graph that was seen."""
    monkeypatch.setattr(arrays.Torch, "is_on_gpu", lambda *_: True)

    def trace(function, *inputs):
        graphs = []

        def backend(module, _):
            graphs.append(module)
            return lambda *_: (torch.zeros(()),)

        torch.compile(function, fullgraph=True, backend=backend)(*inputs)
        return graphs[0]

    return trace


@pytest.mark.parametrize("duals", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_one_operator(traced, dtype, duals):
    costs = torch.zeros((4, 5, 6), dtype=getattr(torch, dtype))

    def total(costs):
        answer = lw.solve_batch(costs, maximize=True, unmatched_cost=3, col_counts=[1, 2, 3, 6], duals=duals)
        assert answer.row_to_col.shape == (4, 5) and answer.status.dtype == torch.int32
        assert answer.objective.dtype == (torch.float64 if dtype == "float32" else torch.int64)
        assert (answer.u.shape == (4, 5)) if duals else answer.u is None
        return answer.row_to_col.sum() + answer.objective.sum()

    called = [node for node in traced(total, costs).graph.nodes if node.op == "call_function"]
    assert [node for node in called if "lapwing" in str(node.target)] != []


def test_what_cannot_be_compiled(traced):
    costs = torch.zeros((4, 5, 6))
    for options in ({"check": True}, {"certify": True}):
        with pytest.raises(Exception, match="certify and check are not for code that PyTorch compiles"):
            traced(lambda costs, options=options: lw.solve_batch(costs, **options).objective.sum(), costs)
