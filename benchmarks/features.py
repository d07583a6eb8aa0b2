"""(i) Features of photos by pretrained networks: fused, in float32 and bfloat16, against torch's plain eager loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.timing import take_turns
from classgrow.engine.allocator import keep_freed_memory
from classgrow.networks.catalogue import NETWORKS, build_backbone
from classgrow.networks.fused import fused
from classgrow.networks.pretrained import is_installed, load_pretrained

IMAGES = 32
"""One batch of the plain loop."""


def measure(rounds: int = 7) -> dict[str, Any]:
    """Images per second of each network whose weights are installed, at the size it was trained on.

    First with torch's own handling of memory, then with freed memory kept, as a `Learner` keeps it.
    """
    rows = networks("given back", rounds)
    keep_freed_memory()
    return {"rows": rows + networks("kept", rounds)}


def networks(memory: str, rounds: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for name in NETWORKS.names:
        facts = NETWORKS[name]
        if facts.pretrained is None or not is_installed(facts.pretrained):
            continue
        backbone = build_backbone(name, 3, True).eval()
        load_pretrained(backbone, facts)
        images = torch.randn(
            IMAGES, 3, facts.pretrained.size, facts.pretrained.size, generator=torch.Generator().manual_seed(1)
        )
        rows += [{"freed memory": memory, **row} for row in rows_of(name, backbone, images, rounds)]
    return rows


def rows_of(name: str, backbone: nn.Module, images: Tensor, rounds: int) -> list[dict[str, Any]]:
    """One network in three ways, in turns, and how far its features are from those of the plain loop."""
    ways = {"eager": backbone, "float32": fused(backbone), "bfloat16": fused(backbone, torch.bfloat16)}
    work: dict[str, Callable[[], object]] = {way: partial(features, module, images) for way, module in ways.items()}
    timings = take_turns(work, rounds)
    plain = features(backbone, images)
    return [
        {
            "network": name,
            "way": way,
            "images/s": IMAGES / timing.median,
            "low": IMAGES / timing.high,
            "high": IMAGES / timing.low,
            "x eager": timings["eager"].over(timing),
            "largest difference": float((features(ways[way], images).float() - plain).abs().max()),
            "least cosine": float(torch.cosine_similarity(features(ways[way], images).float(), plain).min()),
        }
        for way, timing in timings.items()
    ]


@torch.inference_mode()
def features(module: nn.Module, images: Tensor) -> Tensor:
    found: Tensor = module(images)
    return found
