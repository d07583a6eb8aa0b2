"""End-to-End (EEIL): cross-entropy with distillation per block of classes, then balanced fine-tuning."""

from __future__ import annotations

from classgrow.method import Method, Source
from classgrow.parts.classification import CrossEntropy
from classgrow.parts.distillation import SoftmaxDistillation
from classgrow.parts.heads import LinearHead
from classgrow.parts.rules import LargestLogit
from classgrow.parts.selection import herding
from classgrow.steps import Grow, Remember, Snapshot, Train, a_balanced_set

SOURCE = Source(
    title="End-to-End Incremental Learning",
    authors="Castro, Marín-Jiménez, Guil, Schmid, Alahari",
    year=2018,
    departures=(
        "Augmentation is drawn anew in every epoch; theirs is twelve stored variants of every image.",
        "When the quota shrinks, the herding order decides what stays; in their code chance does.",
        "Weight decay is a plain 1e-4 and gradients carry no noise; their code scales both in unusual ways.",
        "90 epochs first, then 60 + 40, and their drops: a common PyTorch port's, as twelve times the images is out of "
        "reach.",
        "The second stage makes 500 updates at least (fewer where `epochs` shortens a run); theirs, over twelve "
        "variants of every image for thirty epochs, makes hundreds even with a small memory.",
        "On ImageNet-100 the same epochs as on CIFAR-100; what is known of theirs is a first phase of 60.",
        "The balanced set is herded whatever selection fills the memory.",
    ),
)


def eeil(temperature: float = 2.0) -> Method:
    """Castro et al. 2018; in the second stage the targets of all blocks come from the network after the first."""
    objective = CrossEntropy() + SoftmaxDistillation(temperature, per_block=True)
    return Method(
        name="eeil",
        head=LinearHead(draw="he"),
        steps=(
            Grow(),
            Train(objective),
            Snapshot(),
            Train(objective, data=a_balanced_set, schedule="fine_tune", later_only=True),
            Remember(herding),
        ),
        rule=LargestLogit(),
        recipe="eeil",
        last_relu=True,
        source=SOURCE,
    )
