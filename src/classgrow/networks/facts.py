"""All that is known of a network before it is built: one value, beside its class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class NetworkFacts:
    """A backbone. `name`, `build` and `features` are needed; what the rest is for, works roughly without it.

    build         (channels, last_relu) -> a module that maps images (N, C, H, W) to features (N, `features`)
    parameters    with the usual number of channels, without a head
    megaflops     millions of multiplications for one image of its usual size
    repaid_after  training images from which compiling saves more than twice its warm-up; None: never
    """

    name: str
    build: Callable[[int, bool], nn.Module]
    features: int
    parameters: int | None = None
    megaflops: float | None = None
    repaid_after: int | None = None
