"""One assignment problem over the processes of a `torch.distributed` group; needs PyTorch.

Every rank has a block of rows, with all columns, and calls `solve`. See docs/distributed.md, and
docs/design/distributed.md for the protocol.
"""

from lapwing.distributed.result import RankResult
from lapwing.distributed.solve import plan, solve

__all__ = ["RankResult", "plan", "solve"]
