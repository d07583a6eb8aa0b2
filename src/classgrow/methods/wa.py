"""WA: cross-entropy and distillation weighted by the share of old classes, then new rows as long as old ones."""

from __future__ import annotations

from classgrow.method import Method, Source
from classgrow.parts.classification import CrossEntropy
from classgrow.parts.distillation import SoftmaxDistillation
from classgrow.parts.heads import LinearHead
from classgrow.parts.rules import LargestLogit
from classgrow.parts.scales import new_share, old_share
from classgrow.parts.selection import herding
from classgrow.steps import Grow, Remember, Train
from classgrow.steps.align_weights import AlignWeights

SOURCE = Source(
    title="Maintaining Discrimination and Fairness in Class Incremental Learning",
    authors="Zhao, Xiao, Gan, Zhang, Xia",
    year=2020,
    departures=(
        "The head's weights are not clipped to be positive after every update, which the paper adds.",
        "BiC's recipe for CIFAR-100, which theirs resembles, with batches of 128; theirs are of 32.",
    ),
)


def wa(temperature: float = 2.0) -> Method:
    """Zhao et al. 2020; the paper is not part of the FGP comparison."""
    return Method(
        name="wa",
        head=LinearHead(),
        steps=(
            Grow(),
            Train(old_share * SoftmaxDistillation(temperature) + new_share * CrossEntropy()),
            AlignWeights(),
            Remember(herding),
        ),
        rule=LargestLogit(),
        recipe="bic",
        last_relu=True,
        source=SOURCE,
    )
