"""How methods and settings are called and drawn: the paper's words, colours and markers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from classgrow.data.catalogue import dataset_title as dataset_title
from classgrow.specs.paper import ABLATIONS, METHODS

MISSING = "–"


@dataclass(frozen=True)
class Look:
    """A method's name in legends and tables, its colour and its marker."""

    label: str
    colour: str
    marker: str


LOOKS = {
    "icarl": Look("iCaRL", "#ff7f0e", "d"),
    "eeil": Look("End-to-End", "#2ca02c", "s"),
    "bic": Look("BIC", "#a52a2a", "*"),
    "lucir": Look("Hou19", "#1f77b4", "^"),
    "mnemonics": Look("Mnemonics", "darkorchid", "x"),
    "fgp": Look("FGP", "red", "o"),
    "fgp-ce": Look("FGP, cross-entropy", "#1f77b4", "^"),
    "fgp-cosine": Look("FGP, plain cosine", "#1f77b4", "^"),
    "fgp-dist-bce": Look("FGP, BCE distillation", "#2ca02c", "s"),
    "fgp-dist-kl": Look("FGP, KL distillation", "#a52a2a", "*"),
    "fgp-dist-lucir": Look("FGP, Hou19 distillation", "#1f77b4", "^"),
    "fgp-uniform": Look("FGP, uniform weights", "#1f77b4", "^"),
    "fgp-dist-bce-weighted": Look("FGP, weighted BCE", "#2ca02c", "s"),
    "norm-icarl": Look("Norm-iCaRL", "#1f77b4", "^"),
    "finetune": Look("fine-tuning", "#7f7f7f", "v"),
    "replay": Look("replay", "#17becf", "p"),
    "lwf": Look("LwF", "#8c6d31", "h"),
    "joint": Look("joint training", "black", "D"),
}
_OTHERS = (("#e377c2", "P"), ("#bcbd22", "X"), ("#393b79", "<"), ("#637939", ">"), ("#843c39", "8"))
_ORDER = (*METHODS, *ABLATIONS, "finetune", "replay", "lwf", "joint")


def look(method: str) -> Look:
    """The look of a method; one that is not ours gets its own name and a colour that depends on the name only."""
    if method in LOOKS:
        return LOOKS[method]
    colour, marker = _OTHERS[sum(method.encode()) % len(_OTHERS)]
    return Look(method, colour, marker)


def label(method: str) -> str:
    return look(method).label


def in_order(methods: set[str]) -> tuple[str, ...]:
    """The paper's methods in the paper's order, then ablations, then the rest by name."""
    known = [method for method in _ORDER if method in methods]
    return (*known, *sorted(methods.difference(_ORDER)))


def bounded(text: str, most: int = 100) -> str:
    """A part of a file's name, `most` bytes at most: of a longer one the start and a digest of the whole."""
    coded = text.encode()
    if len(coded) <= most:
        return text
    return f"{coded[: most - 9].decode(errors='ignore')}-{hashlib.sha256(coded).hexdigest()[:8]}"


def thousands(count: int) -> str:
    """1000 -> "1K", as the paper writes memories; 200 -> "200"."""
    return f"{count // 1000}K" if count >= 1000 and count % 1000 == 0 else f"{count:,}"
