"""Bounds and plain baselines: what happens with no protection."""

from __future__ import annotations

from classgrow.method import Method, Source
from classgrow.parts.classification import CrossEntropy
from classgrow.parts.heads import LinearHead
from classgrow.parts.rules import LargestLogit
from classgrow.steps import Grow, Train


def finetune() -> Method:
    """Cross-entropy on the new classes' images alone: forgets, and shows how much there is to forget."""
    return Method(
        name="finetune",
        head=LinearHead(),
        steps=(Grow(), Train(CrossEntropy())),
        rule=LargestLogit(),
        recipe="plain",
        last_relu=True,
        source=Source(title="Plain fine-tuning, the lower bound"),
    )
