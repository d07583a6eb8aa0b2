"""Presets: which network, which row of the recipes and which statistics fit images of a size. Plain data, no torch.

A preset is chosen by hand, else by the data set, else by the size of the images; it is printed and recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from classgrow.errors import ClassgrowError, nearest_name

PresetName = Literal["digits", "cifar", "imagenet"]
Statistics = tuple[tuple[float, ...], tuple[float, ...]]
"""Mean and standard deviation of each channel of the training images, scaled to 0..1."""

CIFAR_COLOURS: Statistics = ((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761))
IMAGENET_COLOURS: Statistics = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
UNNAMED_GREY = (0.5, 0.25)


@dataclass(frozen=True)
class Preset:
    """What images of about one size share.

    title      the words for tables
    benchmark  the data set it is named after
    largest    the longest shorter side, in pixels, that still chooses it; None: any
    network    the network of its runs unless another is asked for
    colours    statistics of colour images of which nothing else is known
    """

    name: PresetName
    title: str
    benchmark: str
    largest: int | None
    network: str
    colours: Statistics

    def statistics(self, channels: int) -> Statistics:
        """Of images with so many channels of which nothing else is known."""
        if channels == 3:
            return self.colours
        mean, std = UNNAMED_GREY
        return (mean,) * channels, (std,) * channels


PRESETS: dict[PresetName, Preset] = {
    "digits": Preset("digits", "digits (up to 16 pixels)", "digits", 16, "small", CIFAR_COLOURS),
    "cifar": Preset("cifar", "CIFAR-100 (17 to 64 pixels)", "cifar100", 64, "resnet32", CIFAR_COLOURS),
    "imagenet": Preset(
        "imagenet", "ImageNet-100 (more than 64 pixels)", "imagenet100", None, "resnet18", IMAGENET_COLOURS
    ),
}


def preset_for(size: int) -> PresetName:
    """The preset for images whose shorter side has `size` pixels: the first that is large enough."""
    return next(name for name, preset in PRESETS.items() if preset.largest is None or size <= preset.largest)


def checked_preset(name: str) -> PresetName:
    """`name`, if there is such a preset."""
    known: tuple[PresetName, ...] = get_args(PresetName)
    for preset in known:
        if name == preset:
            return preset
    raise ClassgrowError(
        f"There is no preset {name!r}: `preset` is one of {', '.join(known)}.{nearest_name(name, known)}"
    )
