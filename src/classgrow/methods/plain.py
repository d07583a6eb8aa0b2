"""Bounds and plain baselines: no protection, replay alone, distillation alone, everything at once."""

from __future__ import annotations

from classgrow.method import Method, Source
from classgrow.parts.classification import BinaryCrossEntropy, CrossEntropy
from classgrow.parts.distillation import SoftmaxDistillation
from classgrow.parts.heads import LinearHead, RectifiedCosineHead
from classgrow.parts.objective import Composable
from classgrow.parts.rules import LargestLogit
from classgrow.parts.selection import herding
from classgrow.steps import Grow, Remember, RememberEverything, Restart, Step, Train


def linear(name: str, source: Source, objective: Composable, *after: Step) -> Method:
    """A linear head trained on an objective, and what comes after."""
    return Method(
        name=name,
        head=LinearHead(),
        steps=(Grow(), Train(objective), *after),
        rule=LargestLogit(),
        recipe="plain",
        last_relu=True,
        source=source,
    )


def finetune() -> Method:
    """The new classes' images alone: forgets, and shows how much there is to forget."""
    return linear("finetune", Source("Plain fine-tuning, a lower bound"), CrossEntropy())


def replay() -> Method:
    """Fine-tuning with herded exemplars in the training set."""
    return linear("replay", Source("Fine-tuning with replayed exemplars"), CrossEntropy(), Remember(herding))


def lwf(temperature: float = 2.0) -> Method:
    """Fine-tuning that distils the old outputs, without a memory."""
    source = Source("Learning without Forgetting (single head)", "Li, Hoiem", 2017)
    return linear("lwf", source, CrossEntropy() + SoftmaxDistillation(temperature))


def joint() -> Method:
    """Every phase starts again on all images of all classes seen: an upper bound, with FGP's head and loss."""
    return Method(
        name="joint",
        head=RectifiedCosineHead(),
        steps=(Restart(), Grow(), Train(BinaryCrossEntropy()), RememberEverything()),
        rule=LargestLogit(),
        recipe="fgp",
        source=Source(
            "Joint training on everything, an upper bound",
            departures=("The head answers; the paper does not say which rule its batch training used.",),
        ),
    )
