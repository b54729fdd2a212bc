"""One assignment problem over the processes of a `torch.distributed` group; needs PyTorch.

Every rank has a block of rows, with all columns, and calls `solve`. See docs/distributed.md, and
docs/design/distributed.md for the protocol. In the order of a call: `solve`, then `member` (a rank and its arguments),
`shard` and `device_shard` (its rows), `coordinator` (rank 0 while it solves), `result`. Rank 0 solves by the CPU's core
unless the rows are small; `peer_memory` solves by all GPUs of a host, `gpu_costs`, `gpu_solver` and `gpu_rows` by GPUs
that cannot read each other's memory, `points` gathers points of GPUs, and `reference` and `columns` are the papers'
methods over ranks.
"""

from lapwing.distributed.result import RankResult
from lapwing.distributed.solve import plan, solve

__all__ = ["RankResult", "plan", "solve"]
