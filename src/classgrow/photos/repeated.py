"""Photos that a model keeps already: learned once more they would count twice."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from classgrow.errors import ClassgrowError
from classgrow.photos.exemplars import Exemplar, photo_digest
from classgrow.photos.intake import Intake
from classgrow.photos.sources import Skipped

REPEATED = "learned before"
NAMED = 3
"""How many photos a sentence names."""


def without_repeated(intake: Intake, kept: Iterable[Exemplar]) -> Intake:
    """The photos without those that a model keeps under the same class, which are named as skipped.

    One that it keeps under another class only is learned, and said: either label may be the wrong one.
    """
    labels: dict[str, set[str]] = {}
    for one in kept:
        labels.setdefault(one.file.removesuffix(".png"), set()).add(one.label)
    if not labels:
        return intake
    before = [labels.get(photo_digest(pixels), set()) for pixels in intake.pixels]
    fresh = [place for place, (name, mine) in enumerate(zip(intake.names, before, strict=True)) if name not in mine]
    if not fresh:
        raise ClassgrowError("Every photo here was learned before: give the folders of new photos or new classes.")
    repeated = sorted(set(range(len(intake))) - set(fresh))
    return Intake(
        intake.pixels if not repeated else intake.pixels[torch.tensor(fresh)],
        tuple(intake.names[place] for place in fresh),
        tuple(intake.sources[place] for place in fresh),
        (*intake.skipped, *(Skipped(intake.sources[place], REPEATED) for place in repeated)),
        (*intake.notes, *relabelled([(intake.sources[place], sorted(before[place])) for place in fresh])),
    )


def relabelled(photos: Iterable[tuple[str, list[str]]]) -> list[str]:
    """A sentence on photos that the model keeps under other classes."""
    found = [f"{source} (kept as {', '.join(names)})" for source, names in photos if names]
    if not found:
        return []
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return [f"Learned before under another class: {'; '.join(found[:NAMED])}{more}."]
