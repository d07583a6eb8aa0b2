"""A formula of a record, which is plain text, set as formulas are: letters slanted, indices low, stars high.

>>> typeset("√(old/seen)·Σ_old (d − d*)²")
Markup('√<span class="root">old/seen</span>·Σ<sub>old</sub> (<i>d</i> − <i>d</i><sup>∗</sup>)²')
"""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_LETTER = r"(?<![A-Za-z]){}\u0304?(?![A-Za-z])"  # one that stands alone, with or without a bar over it
_PIECES = re.compile(
    r"√\((?P<root>[^()]*)\)"  # a line goes over what the root holds
    r"|_(?P<index>[A-Za-z]+|≥[\w.]+)"
    r"|(?P<star>\*)"
    r"|(?P<letter>" + _LETTER.format("[a-zμαβ]") + ")"
)
_SYMBOLS = (
    (r"\*", "*", "marks the model before this phase"),
    (_LETTER.format("a"), "a", "the outputs for an image"),
    (_LETTER.format("y"), "y", "its label"),
    ("σ", "σ", "the sigmoid"),
    ("BCE_≥", "BCE_≥n", "averaged over n outputs at least"),
    ("Σ_c ", "Σ_c", "the sum over classes"),
    (r"H\(", "H", "the cross-entropy of two distributions"),
    ("f\u0304", "f\u0304", "an image's features at unit length"),
    (_LETTER.format("d") + "(?!_)", "d", "the squared distance from those to the unit embedding of an old class"),
    (
        "d_aug",
        "d_aug",
        "the squared distance from an image's features to the embedding of an old class, unit vectors "
        "that hold the head's bias too",
    ),
    ("cos", "cos", "the cosine between an image's features and a class's embedding"),
    ("μ", "μ_c", "the mean of a class's exemplars"),
    (r"(old|new)/", "old, new, seen", "how many classes"),
)


def typeset(formula: str) -> Markup:
    """The same symbols as HTML."""
    parts, end = [], 0
    for found in _PIECES.finditer(formula):
        parts += [escape(formula[end : found.start()]), _set(found)]
        end = found.end()
    return Markup("").join([*parts, escape(formula[end:])])


def _set(found: re.Match[str]) -> Markup:
    if found["root"] is not None:
        return Markup('√<span class="root">{}</span>').format(typeset(found["root"]))
    if found["index"]:
        return Markup("<sub>{}</sub>").format(found["index"])
    return Markup("<sup>∗</sup>") if found["star"] else Markup("<i>{}</i>").format(found["letter"])


def symbols(*formulas: str) -> list[tuple[Markup, str]]:
    """What stands in the formulas, and what it means."""
    text = " ".join(formulas)
    return [(typeset(symbol), meaning) for pattern, symbol, meaning in _SYMBOLS if re.search(pattern, text)]
