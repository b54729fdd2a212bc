"""Flow matching on several processes, whose minibatches are coupled as one by optimal transport.

Every rank draws its own noise and data, and trains under DistributedDataParallel. The coupling is that of the global
batch, which crosses less than those of the ranks' own batches. Data are gathered, two numbers a point; each rank
computes the costs of its own noise with all of them, and gets the partners of its noise back.

    torchrun --nproc-per-node=4 examples/flow_matching_distributed.py [--steps 200] [--size 256]
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

import lapwing as lw


def moons(count: int, generator: torch.Generator) -> Tensor:
    """Points (count, 2) on two interleaved half circles."""
    angle = math.pi * torch.rand(count, generator=generator)
    side = torch.randint(0, 2, (count,), generator=generator)
    x = torch.where(side == 0, angle.cos(), 1 - angle.cos()) - 0.5
    y = torch.where(side == 0, angle.sin(), 0.5 - angle.sin()) - 0.25
    return 2 * torch.stack([x, y], -1) + 0.1 * torch.randn(count, 2, generator=generator)


def coupled(noise: Tensor, data: Tensor) -> tuple[Tensor, float]:
    """The partners of this rank's noise (n, 2) in the data of all ranks, and the least total of squared distances."""
    parts = [torch.empty_like(data) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, data)
    everything = torch.cat(parts)
    costs = lw.costs.squared_euclidean(noise.numpy(), everything.numpy())
    result = lw.distributed.solve(costs)
    return everything[torch.from_numpy(np.asarray(result.row_to_col))], float(result.objective)


def train(steps: int, size: int) -> tuple[list[float], float]:
    """The losses of this rank, and the last total of squared distances, the same on every rank."""
    torch.manual_seed(0)
    layers = [nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2)]
    model = DistributedDataParallel(nn.Sequential(*layers))
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    generator = torch.Generator().manual_seed(dist.get_rank())
    losses, total = [], 0.0
    for _ in range(steps):
        noise, data = torch.randn(size, 2, generator=generator), moons(size, generator)
        data, total = coupled(noise, data)
        times = torch.rand(size, 1, generator=generator)
        wanted = data - noise
        loss = (model(torch.cat([noise + times * wanted, times], -1)) - wanted).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, total


def main() -> None:
    """Train, and report from rank 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--size", type=int, default=256, help="of each rank's batch")
    options = parser.parse_args()
    dist.init_process_group("gloo")
    losses, total = train(options.steps, options.size)
    if dist.get_rank() == 0:
        pairs = options.size * dist.get_world_size()
        print(f"loss {losses[0]:.3f} to {losses[-1]:.3f}; {total / pairs:.4f} a pair, of {pairs} pairs coupled at once")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
