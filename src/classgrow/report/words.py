"""What was shortened, in plain words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from classgrow.report.runs import Run
from classgrow.report.seeds import seeds_words
from classgrow.specs.reduction import Reduction


def words(runs: Iterable[Run]) -> str:
    """What was shortened in these runs in plain words, and how several seeds were counted."""
    runs = list(runs)
    if runs and runs[0].regimen.source == "authors":
        return "Source: the authors' published result files, not runs of this package."
    reduction = reduction_of(runs)
    if reduction is None:
        return "Settings this version cannot read."
    some: list[str] = []
    settings = {run.setting for run in runs if not run.setting.memoryless}
    if len(settings) > 1 and not all(setting.in_paper for setting in settings):
        # Several settings in one table or figure: what only some have stands in their own names.
        reduction = replace(reduction, classes=None, first=None, step=None, memory=None)
        some = ["some settings have other classes or memories than the paper's, as their names say"]
    parts = [*reduction.parts(), *some]
    sentence = f"Shortened: {'; '.join(parts)}." if parts else f"{reduction.words().capitalize()}."
    return f"{sentence} {seeds_words(runs)}".strip()


def reduction_of(runs: Iterable[Run]) -> Reduction | None:
    """How runs that were trained in the same way differ from the paper's; None if their settings cannot be read."""
    known = [(run, run.spec) for run in runs if run.spec is not None]
    if not known:
        return None
    how = known[0][0].regimen
    return replace(
        Reduction.of(spec.model_copy(update={"order": run.order}) for run, spec in known),
        lr=how.lr,
        options=how.options,
        network=how.network,
        rule=how.rule,
        preset=how.preset,
    )
