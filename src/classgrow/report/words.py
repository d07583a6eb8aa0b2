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
    return f"{_sentence(runs, reduction, some)} {_precision(runs)} {seeds_words(runs)}".replace("  ", " ").strip()


def _sentence(runs: list[Run], reduction: Reduction, some: list[str]) -> str:
    """The paper's protocol with the share of its image-steps, where that is all that was shortened; else every part."""
    share = image_share(runs)
    if reduction.profile != "fast" or share is None:
        parts = [*reduction.parts(), *some]
        return f"Shortened: {'; '.join(parts)}." if parts else f"{reduction.words().capitalize()}."
    rest = [*replace(reduction, profile="official", epochs=None).parts(), *some]
    whole = all(run.setting.in_paper for run in runs)
    start = f"The paper's protocol, {share} of its" if whole else f"Shortened: {share} of FGP's own"
    return f"{'; '.join([f'{start} image-steps (the fast profile)', *rest])}."


def image_share(runs: Iterable[Run]) -> str | None:
    """ "20 %", or "20 to 23 %": what training went over, beside FGP's own epochs on the same training sets."""
    shares = [100 * run.image_steps / run.full_image_steps for run in runs if run.image_steps and run.full_image_steps]
    if not shares:
        return None
    low, high = round(min(shares)), round(max(shares))
    return f"{low} %" if low == high else f"{low} to {high} %"


def _precision(runs: list[Run]) -> str:
    """In which numbers the backbones computed while training: said of the paper's own settings, and of any other than
    float32."""
    used = sorted({run.precision for run in runs}, reverse=True)
    said = used != ["float32"] or any(run.setting.in_paper for run in runs)
    return f"Trained in {' and in '.join(used)}." if said else ""


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
