"""Class-incremental image learning: the public names. They are imported when first used, so that help is instant."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from classgrow.errors import ClassgrowError as ClassgrowError
    from classgrow.learner import Evaluation as Evaluation
    from classgrow.learner import Learner as Learner
    from classgrow.method import Method as Method
    from classgrow.parts.rules import Rule as Rule
    from classgrow.photos.model import create as create
    from classgrow.photos.model import load as load
    from classgrow.recipes import Recipe as Recipe

__version__ = "0.1.0"

_ROOMS = {
    "ClassgrowError": "classgrow.errors",
    "Evaluation": "classgrow.learner",
    "Learner": "classgrow.learner",
    "Method": "classgrow.method",
    "Recipe": "classgrow.recipes",
    "Rule": "classgrow.parts.rules",
    "create": "classgrow.photos.model",
    "load": "classgrow.photos.model",
}


def __getattr__(name: str) -> object:
    if name not in _ROOMS:
        raise AttributeError(f"module 'classgrow' has no attribute {name!r}")
    return getattr(import_module(_ROOMS[name]), name)


def __dir__() -> list[str]:
    return [*_ROOMS, "__version__"]
