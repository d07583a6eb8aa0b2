"""Hou19 (LUCIR): cosine head, features that keep their direction, a margin between old and new classes."""

from __future__ import annotations

from classgrow.method import Method, Source
from classgrow.parts.classification import CrossEntropy
from classgrow.parts.distillation import LessForget, MarginRanking
from classgrow.parts.heads import CosineHead
from classgrow.parts.rules import LargestLogit
from classgrow.parts.scales import sqrt_old_over_new
from classgrow.parts.selection import herding
from classgrow.steps import Grow, Remember, Train, imprinted

SOURCE = Source(
    title="Learning a Unified Classifier Incrementally via Rebalancing",
    authors="Hou, Pan, Loy, Wang, Lin",
    year=2019,
    departures=(
        "The memory is a total over all classes, floor(M / n) each; theirs is 20 per class.",
        "Exemplars are mirrored in the class means; on CIFAR their code reverses the colour channels instead.",
        "FGP's backbone (shortcuts without weights) and augmentation, as for every method here.",
    ),
)


def lucir(base: float = 5.0, hardest: int = 2, margin: float = 0.5) -> Method:
    """Hou et al. 2019; λ = base · √(old/new), base 5 on CIFAR-100 and 10 on ImageNet."""
    return Method(
        name="lucir",
        head=CosineHead(),
        steps=(
            Grow(rows=imprinted, freeze_old=True),
            Train(CrossEntropy() + base * sqrt_old_over_new * LessForget() + MarginRanking(hardest, margin)),
            Remember(herding),
        ),
        rule=LargestLogit(),
        recipe="lucir",
        source=SOURCE,
    )
