"""All that is known of a data set before it is read: one value, beside its loader. No torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from classgrow.inputs import Shape
from classgrow.presets import PresetName, Statistics
from classgrow.progress import Progress

if TYPE_CHECKING:
    from classgrow.data.labelled import Dataset

    Loader = Callable[[Path | None, Progress, bool], Dataset]


@dataclass(frozen=True)
class PaperProtocol:
    """What a benchmark uses by default: exemplars in all, classes per phase, class order."""

    memory: int
    first: int
    step: int
    order: str


@dataclass(frozen=True)
class DatasetFacts:
    """A data set. Only `name` and `load` are needed; what is left out is found when the images are read.

    load              (data folder or None, progress, strict) -> `Dataset`; imports torch itself, not its module
    title             its name in tables
    shape             height, width and channels of its images
    images_per_class  training images of each class, by class id
    statistics        mean and standard deviation of its channels; None: the preset's
    mirror            whether training may mirror images; None: those in colour
    preset            None: by the size of its images
    protocol          None: the paper's proportions (see `protocol_for`)
    published         the name alone says which images it has, wherever they lie
    test_images       how many test images there are
    image_bytes       what an image takes in memory or in the image cache
    """

    name: str
    load: Loader
    title: str = ""
    shape: Shape | None = None
    images_per_class: tuple[int, ...] = ()
    statistics: Statistics | None = None
    mirror: bool | None = None
    preset: PresetName | None = None
    protocol: PaperProtocol | None = None
    published: bool = False
    test_images: int | None = None
    image_bytes: int | None = None

    @property
    def stored_bytes(self) -> int | None:
        """About what all its images take; None if unknown."""
        if self.test_images is None or self.image_bytes is None:
            return None
        return (sum(self.images_per_class) + self.test_images) * self.image_bytes


def protocol_for(facts: DatasetFacts | None, class_count: int) -> PaperProtocol:
    """The data set's protocol; for any other data the paper's proportions: 20 exemplars a class, ten phases."""
    if facts is not None and facts.protocol is not None:
        return facts.protocol
    step = -(-class_count // 10)
    return PaperProtocol(memory=20 * class_count, first=step, step=step, order="natural")
