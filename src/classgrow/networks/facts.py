"""All that is known of a network before it is built: one value, beside its class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Pretrained:
    """Weights that another package holds, and the images they were trained on.

    file     below the folder that packages are installed in
    sha256   of that file, in full; another file is never read
    size     pixels along a side of the square images
    mean     of every channel, scaled to 0..1, as is `std`
    install  what `pip install` is to be given where the package is missing
    """

    package: str
    file: str
    sha256: str
    size: int
    mean: float
    std: float
    install: str


@dataclass(frozen=True)
class NetworkFacts:
    """A backbone. `name`, `build` and `features` are needed; what the rest is for, works roughly without it.

    build         (channels, last_relu) -> a module that maps images (N, C, H, W) to features (N, `features`)
    parameters    with the usual number of channels, without a head
    megaflops     millions of multiplications for one image of its usual size
    repaid_after  training images from which compiling saves more than twice its warm-up; None: never
    pretrained    the weights it can start from, if there are any
    """

    name: str
    build: Callable[[int, bool], nn.Module]
    features: int
    parameters: int | None = None
    megaflops: float | None = None
    repaid_after: int | None = None
    pretrained: Pretrained | None = None
