"""What happens in a phase, one verb a file."""

from classgrow.steps.balance import a_balanced_set
from classgrow.steps.correct_bias import CorrectBias
from classgrow.steps.declared import Declares, PhasePlan, declared, in_first_phase
from classgrow.steps.fine_tune import FineTune
from classgrow.steps.grow import Grow, imprinted
from classgrow.steps.hold_out import HoldOut
from classgrow.steps.optimise_exemplars import OptimiseExemplars
from classgrow.steps.phase import Phase, Step
from classgrow.steps.remember import Remember, RememberEverything
from classgrow.steps.snapshot import Restart, Snapshot
from classgrow.steps.train import Train

__all__ = [
    "CorrectBias",
    "Declares",
    "FineTune",
    "Grow",
    "HoldOut",
    "OptimiseExemplars",
    "Phase",
    "PhasePlan",
    "Remember",
    "RememberEverything",
    "Restart",
    "Snapshot",
    "Step",
    "Train",
    "a_balanced_set",
    "declared",
    "imprinted",
    "in_first_phase",
]
