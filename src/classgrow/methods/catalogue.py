"""Methods by name: the paper's six, bounds and plain baselines, ablations, and what others register.

A package adds its own by an entry point in the group `classgrow.methods` that names a function returning a `Method`.
"""

from __future__ import annotations

from collections.abc import Callable

from classgrow.errors import ClassgrowError, nearest_name
from classgrow.installed import installed_points
from classgrow.method import Method
from classgrow.methods.ablations import ABLATIONS
from classgrow.methods.bic import bic
from classgrow.methods.eeil import eeil
from classgrow.methods.fgp import fgp
from classgrow.methods.frozen import frozen
from classgrow.methods.icarl import icarl
from classgrow.methods.installed import from_package
from classgrow.methods.lucir import lucir
from classgrow.methods.mnemonics import mnemonics
from classgrow.methods.options import fitted
from classgrow.methods.plain import finetune, joint, lwf, replay
from classgrow.methods.wa import wa

Factory = Callable[..., Method]

METHODS: dict[str, Factory] = {
    "fgp": fgp,
    "icarl": icarl,
    "eeil": eeil,
    "bic": bic,
    "lucir": lucir,
    "mnemonics": mnemonics,
    "wa": wa,
    "finetune": finetune,
    "replay": replay,
    "lwf": lwf,
    "joint": joint,
    "frozen": frozen,
    **ABLATIONS,
}


def registered() -> dict[str, Factory]:
    """Methods that installed packages bring along; a package is imported when its method is asked for."""
    return {name: from_package(point) for name, point in installed_points("classgrow.methods").items()}


def known_methods() -> dict[str, Factory]:
    """Ours and those registered; ours win."""
    return {**registered(), **METHODS}


def build_method(name: str, /, **options: object) -> Method:
    """The named method, with the options of its factory."""
    known = known_methods()
    if name not in known:
        hint = nearest_name(name, list(known))
        raise ClassgrowError(f"There is no method {name!r}: `method` is one of {', '.join(known)}.{hint}")
    return known[name](**fitted(name, known[name], options))
