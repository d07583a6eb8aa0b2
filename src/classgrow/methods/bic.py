"""BiC: distillation weighted by the share of old classes, then a two-number correction of the new classes' logits."""

from __future__ import annotations

from classgrow.method import Method, Source
from classgrow.parts.classification import CrossEntropy
from classgrow.parts.distillation import SoftmaxDistillation
from classgrow.parts.heads import LinearHead
from classgrow.parts.rules import LargestLogit
from classgrow.parts.scales import new_share, old_share
from classgrow.parts.selection import herding
from classgrow.steps import CorrectBias, Grow, HoldOut, Remember, Train

SOURCE = Source(
    title="Large Scale Incremental Learning",
    authors="Wu, Chen, Wang, Ye, Liu, Guo, Fu",
    year=2019,
    departures=(
        "λ = old/seen; their code uses (t - 1)/t, which is the same for phases of equal size.",
        "The correction is fitted with the network in evaluation mode; their graph stays in training mode.",
        "Weight decay is the same in every phase; their code divides it by the phase number.",
        "Batch norm decays like everything else; their code spares it.",
        "iCaRL's herding on unit features; their code herds raw features and repeats it for old classes.",
        "On CIFAR-100 250 epochs at 0.1, a common PyTorch port's: the released code trains on ImageNet only.",
        "α and β are fitted in batches of 128 on all data; their ImageNet code takes 256 and twice the rate.",
    ),
)


def bic(temperature: float = 2.0, held_out: float = 0.1) -> Method:
    """Wu et al. 2019; a tenth of the memory never trains the network and decides α and β."""
    return Method(
        name="bic",
        head=LinearHead(),
        steps=(
            HoldOut(held_out),
            Grow(),
            Train(old_share * SoftmaxDistillation(temperature) + new_share * CrossEntropy()),
            CorrectBias(),
            Remember(herding, held_out=held_out),
        ),
        rule=LargestLogit(),
        recipe="bic",
        last_relu=True,
        source=SOURCE,
    )
