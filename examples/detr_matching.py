"""Train a small detector whose predictions are a set: each is matched to at most one object, exactly, at every step.

Images hold one to six squares. A small network predicts sixteen boxes with the probability that each is an object; as
in DETR (Carion et al., ECCV 2020), the cheapest assignment of objects to predictions tells each prediction what to
learn. All images of a minibatch are matched in one call, and the cost of their assignments is the loss. The code is the
same for a CPU and a GPU, and for a loss that PyTorch compiles. On a GPU nothing of a training step comes back to the
host, and the number of objects differs from image to image without padding work.

    python examples/detr_matching.py [--steps 400] [--device cpu] [--compile]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from torch import Tensor, nn

from lapwing.torch import assignment_cost

SIDE, MOST, QUERIES = 48, 6, 16


def scenes(count: int, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Images (count, 1, SIDE, SIDE), boxes (count, MOST, 3) as centre and size, and how many of these there are."""
    sizes = torch.randint(1, MOST + 1, (count,), device=device)
    boxes = torch.rand(count, MOST, 3, device=device) * torch.tensor([0.8, 0.8, 0.1], device=device) + 0.1
    grid = (torch.arange(SIDE, device=device) + 0.5) / SIDE
    inside_x = (grid - boxes[..., 0:1]).abs() < boxes[..., 2:] / 2
    inside_y = (grid - boxes[..., 1:2]).abs() < boxes[..., 2:] / 2
    present = torch.arange(MOST, device=device) < sizes[:, None]
    images = (inside_y[..., :, None] & inside_x[..., None, :] & present[..., None, None]).any(1)
    return images.float().unsqueeze(1), boxes, sizes


def detector() -> Any:
    """A network from images to (B, QUERIES, 4): the logits of a box, and that it is an object."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 5, 2, 2), nn.ReLU(), nn.Conv2d(32, 64, 3, 2, 1), nn.ReLU(),
        nn.Conv2d(64, 64, 3, 2, 1), nn.ReLU(), nn.Flatten(),
        nn.Linear(64 * (SIDE // 8) ** 2, 512), nn.ReLU(), nn.Linear(512, QUERIES * 4), nn.Unflatten(1, (QUERIES, 4)),
    )  # fmt: skip


def loss_of(predictions: Tensor, targets: Tensor, sizes: Tensor) -> Tensor:
    """The Hungarian loss: the least that boxes and logits cost over all assignments of objects to predictions.

    A prediction costs softplus(-logit) and five times its box's distance with an object, softplus(logit) without. The
    first less the second is the cost of a pair.
    """
    boxes, logits = predictions[..., :3].sigmoid(), predictions[..., 3]
    costs = 5 * torch.cdist(boxes, targets, p=1) - logits.unsqueeze(-1)
    matched: Tensor = assignment_cost(costs, col_counts=sizes)
    return (matched + nn.functional.softplus(logits).sum(-1)).sum() / sizes.sum()


def main() -> None:
    """Train, and report the loss now and then."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--compile", action="store_true", help="let PyTorch compile the loss")
    options = parser.parse_args()
    torch.manual_seed(0)
    model = detector().to(options.device)
    loss_function = torch.compile(loss_of, fullgraph=True) if options.compile else loss_of
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    began = time.perf_counter()
    for step in range(options.steps + 1):
        images, targets, sizes = scenes(options.batch, options.device)
        loss = loss_function(model(images), targets, sizes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % max(1, options.steps // 8) == 0:  # the one place that waits for the device
            print(f"step {step:5}: loss {loss.item():.4f}, {time.perf_counter() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
