"""What a step says of itself before it runs: its objective, what it keeps, how many images it goes over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from classgrow.parts.objective import Composable
from classgrow.parts.selection import Selection
from classgrow.recipes import Recipe
from classgrow.steps.phase import Step


@dataclass(frozen=True)
class PhasePlan:
    """A phase that is still to come: its number and recipe, and how many images each kind of training set has."""

    number: int
    recipe: Recipe
    everything: int
    balanced: int


@dataclass(frozen=True)
class Declares:
    """A step that wraps another one passes on what that one declares.

    objective       what it trains the network on, if it does
    memory          whether it keeps exemplars: none, within the budget, or every image
    held_out        the share of the memory it keeps out of training
    images          how many images its training goes over in a phase, repetitions counted
    with_selection  the same step with another way to choose exemplars, where it chooses any
    with_objective  the same step with another objective, where it has one
    first_phase     the same step without what plays no part in a first phase, if that is known and the size of the
                    memory plays none either; where all such steps are equal, one training serves several runs
    """

    objective: Composable | None = None
    memory: Literal["none", "budget", "everything"] = "none"
    held_out: float = 0.0
    images: Callable[[PhasePlan], int] = lambda plan: 0
    with_selection: Callable[[Selection], Step] | None = None
    with_objective: Callable[[Composable], Step] | None = None
    first_phase: Step | None = None


NOTHING = Declares()


def declared(step: Step) -> Declares:
    """What the step declares; one without the attribute neither trains nor keeps anything."""
    found = getattr(step, "declares", NOTHING)
    return found if isinstance(found, Declares) else NOTHING


def in_first_phase(step: Step) -> tuple[Step, bool]:
    """The step without what plays no part in a first phase, and whether it is known that the memory's size plays none.

    A step of another class that passes on what this one declares may do more, so it stays whole.
    """
    reduced = declared(step).first_phase
    if reduced is None or type(reduced) is not type(step):
        return step, False
    return reduced, True
