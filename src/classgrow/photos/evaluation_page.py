"""The page of an evaluation: numbers, confusions, and the photos that were told wrong."""

from __future__ import annotations

from classgrow.photos.evaluation import Evaluated
from classgrow.photos.pages import page

MOST = 30
"""Confusions that the page shows."""


def evaluation_page(found: Evaluated, model: str, title: str) -> str:
    """The whole page."""
    return page(
        "evaluation.html",
        found=found,
        model=model,
        title=title,
        strangers=sum(found.strangers.values()),
        classes=sorted(found.classes, key=lambda one: (one.accuracy, one.name)),
        most=MOST,
    )
