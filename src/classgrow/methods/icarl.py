"""iCaRL: sigmoid outputs, the old model's sigmoids as targets for old classes, nearest mean of exemplars."""

from __future__ import annotations

from classgrow.method import Method, Source
from classgrow.parts.classification import BinaryCrossEntropy, teacher_for_old
from classgrow.parts.heads import LinearHead
from classgrow.parts.rules import NearestClassMean
from classgrow.parts.selection import herding
from classgrow.steps import Grow, Remember, Train

SOURCE = Source(
    title="iCaRL: Incremental Classifier and Representation Learning",
    authors="Rebuffi, Kolesnikov, Sperl, Lampert",
    year=2017,
    departures=(
        "The quota is floor(M / n); their code rounds up and may exceed the memory.",
        "Weight decay 1e-5, as the FGP comparison; their code amounts to 2e-5.",
        "A fresh optimiser in every phase; their momentum outlives a phase.",
        "FGP's augmentation and normalisation, so that all methods see the same images.",
    ),
)


def icarl(outputs: float = 1) -> Method:
    """Rebuffi et al. 2017; one loss over all outputs there will ever be, unseen ones with target 0 (their code).

    `outputs`: the mean is over so many at least. Their code has 100 whatever is learned, and its rate of 2 fits that:
    with a mean over 20 the same rate is five times as large, and the linear head does not survive the second phase.
    """
    return Method(
        name="icarl",
        head=LinearHead(draw="lasagne", reserve=True),
        steps=(
            Grow(),
            Train(BinaryCrossEntropy(targets=teacher_for_old, outputs=outputs)),
            Remember(herding),
        ),
        rule=NearestClassMean(),
        recipe="icarl",
        source=SOURCE,
    )
