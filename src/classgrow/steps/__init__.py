"""What happens in a phase, one verb a file."""

from classgrow.steps.grow import Grow
from classgrow.steps.phase import Phase, Step
from classgrow.steps.remember import Remember, RememberEverything
from classgrow.steps.train import Train

__all__ = ["Grow", "Phase", "Remember", "RememberEverything", "Step", "Train"]
