"""Frozen features: nothing is trained, and an exact rule answers."""

from __future__ import annotations

from classgrow.method import Method, Source
from classgrow.parts.discriminant import LinearDiscriminant
from classgrow.parts.heads import LinearHead
from classgrow.parts.ridge import RandomRidge
from classgrow.parts.rules import NearestClassMean
from classgrow.parts.selection import herding
from classgrow.steps import Grow, Remember

SOURCE = Source(
    title="A backbone that is not trained, with a linear discriminant on its features",
    departures=(
        "Nothing is trained: its answers are as good as the backbone it is given, so give it a pretrained one.",
        "Nearest class means are of the photos alone, not of their mirror images too: a second look at every photo "
        "would double the time.",
    ),
)


def frozen() -> Method:
    """Learns in one look at each photo; equal to learning everything at once, in any order of classes."""
    return Method(
        name="frozen",
        head=LinearHead(),
        steps=(Grow(), Remember(herding)),
        rule=LinearDiscriminant(),
        others=(RandomRidge(), NearestClassMean(mirrored=False)),
        recipe="plain",
        last_relu=True,
        source=SOURCE,
    )
