"""Mnemonics: Hou19's training, with exemplars whose pixels are optimised."""

from __future__ import annotations

from dataclasses import replace

from classgrow.method import Method, Source
from classgrow.methods.lucir import lucir
from classgrow.steps import OptimiseExemplars

SOURCE = Source(
    title="Mnemonics Training: Multi-Class Incremental Learning without Forgetting",
    authors="Liu, Su, Liu, Schiele, Sun",
    year=2020,
    departures=(
        "Bilevel, as the paper describes: the released code takes one nearly idle epoch without an inner loop.",
        "Exemplars start from the herded images; the paper draws them at random.",
        "Adam at 0.01, halved every 2 of 10 epochs, an epoch touching every exemplar once: our choice of settings.",
        "All weights learn; the released code freezes convolutions and learns a factor per kernel.",
        "Stored as rounded bytes; the released code cuts fractions off.",
    ),
)


def mnemonics(base: float = 5.0, optimise: OptimiseExemplars | None = None) -> Method:
    """Liu et al. 2020 on Hou et al. 2019; with `OptimiseExemplars(outer_epochs=0)` it is Hou19 exactly."""
    trained = lucir(base)
    return replace(trained, name="mnemonics", steps=(*trained.steps, optimise or OptimiseExemplars()), source=SOURCE)
