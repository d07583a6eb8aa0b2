"""The answer, on top of the page: FGP's whole curve beside its authors', and one table of methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from classgrow.records.official import official_records
from classgrow.report.gather import Results, spread
from classgrow.report.names import label
from classgrow.report.panels import FigureData, PanelData, Series
from classgrow.report.runs import Regimen, Run, run_of
from classgrow.report.settings import Setting
from classgrow.report.tables import Table, setting_table
from classgrow.report.words import image_share, words
from classgrow.specs.paper import METHODS
from classgrow.specs.reduction import PAPER_DATASETS, PaperSetting

SETTING = Setting.of_paper(PaperSetting("cifar100", 10, 10, 2000))
"""Ten phases of ten classes of CIFAR-100 with 2,000 images: the curve and, if it was run, the table."""
BOUNDS = ("finetune", "joint")
RULES = (("nearest", "Nearest class mean (the paper's rule)"), ("head", "Head alone"))
AS_AUTHORS, FAST = Regimen(), Regimen(profile="fast")
_GREY, _LIGHTER_RED = "#5f5f5f", "#f59a8b"


@dataclass(frozen=True)
class Headline:
    """What the page opens with, as far as there are runs for it."""

    sentences: tuple[str, ...] = ()
    figure: FigureData | None = None
    table: Table | None = None


def headline(results: Results) -> Headline:
    """From all runs: those of FGP at its authors' settings, and the setting in which most methods were run."""
    authors = [run for run in map(run_of, official_records()) if run.setting == SETTING]
    table = _table(results)
    sentences = (_curve_sentence(furthest(results, AS_AUTHORS), authors), _table_sentence(table))
    return Headline(tuple(filter(None, sentences)), _figure(results, authors), table)


def furthest(results: Results, regimen: Regimen) -> list[Run]:
    """FGP's runs in the setting that have come furthest, finished or not."""
    found = [run for run in results.runs if (run.method, run.setting, run.regimen) == ("fgp", SETTING, regimen)]
    most = max((run.phases_done for run in found), default=0)
    return [run for run in found if run.phases_done == most > 0]


def _figure(results: Results, authors: list[Run]) -> FigureData | None:
    ours, short = furthest(results, AS_AUTHORS), furthest(results, FAST)
    if not ours and not short:
        return None
    panels = []
    for rule, title in RULES:
        series = [
            _series(authors, rule, f"the authors, {len(authors)} orders", _GREY, band=True),
            _series([run for run in authors if run.order == "0"], rule, "the authors, order 0", _GREY),
            _series(
                short, rule, f"FGP, {image_share(short) or 'part'} of the image-steps, {_orders(short)}", _LIGHTER_RED
            ),
            _series(ours, rule, f"FGP, {_orders(ours)}", ""),
        ]
        panels.append(PanelData(title, "incremental", tuple(one for one in series if one is not None)))
    every = ours or short
    return FigureData(
        "headline",
        "FGP on CIFAR-100, ten phases of ten classes, 2,000 images: ours beside the authors' results",
        f"{_far(every)}{words(every)}",
        ("Incremental accuracy. The band goes from the lowest to the highest of the authors' class orders.",),
        (tuple(panels),),
    )


def _series(runs: Sequence[Run], rule: str, name: str, colour: str, band: bool = False) -> Series | None:
    """The mean of the runs' curves by a rule, with the lowest and the highest."""
    curves = [dict(run.rule_curves).get(rule, ()) for run in runs]
    points = [spread(values) for values in zip(*curves, strict=True)] if curves else []
    known = [(seen, one) for seen, one in zip(runs[0].classes_seen, points, strict=False) if one] if runs else []
    if not known:
        return None
    return Series(
        "fgp",
        tuple(float(seen) for seen, _ in known),
        tuple(100 * one.mean for _, one in known),
        len(runs),
        tuple(100 * one.low for _, one in known),
        tuple(100 * one.high for _, one in known),
        name=name,
        colour=colour,
        band=band,
    )


def _orders(runs: Iterable[Run]) -> str:
    names = sorted({run.order for run in runs})
    return f"order{'s' * (len(names) > 1)} {', '.join(names)}"


def _far(runs: Sequence[Run]) -> str:
    phases = len(SETTING.sizes)
    return "" if runs[0].phases_done == phases else f"{runs[0].phases_done} of {phases} phases so far. "


def _curve_sentence(ours: list[Run], authors: list[Run]) -> str:
    """ "FGP at its authors' settings, order 0: 74.8 % after 20 classes; the authors' files say 74.8 %." """
    run = next((run for run in ours if run.curve[-1] is not None), None)
    theirs = next((one for one in authors if run and one.class_order == run.class_order), None)
    if run is None or theirs is None:
        return ""
    mine, other = run.curve[-1], theirs.curve[run.phases_done - 1]
    assert mine is not None and other is not None
    return (
        f"FGP at its authors' settings, order {run.order}, 2,000 images: {100 * mine:.1f} % after "
        f"{run.classes_seen[-1]} classes; the authors' own files have {100 * other:.1f} %."
    )


def _table(results: Results) -> Table | None:
    """The paper's methods and the two bounds in one setting: the paper's own once two of its methods were run there,
    else that with most of them, rather on its data and of many classes."""

    def rank(place: tuple[Regimen, Setting]) -> tuple[bool, bool, int, int, int]:
        setting, shown = place[1], len(set(results.methods(*place)) & set(METHODS))
        known = setting.dataset in PAPER_DATASETS
        return known, setting == SETTING and shown > 1, shown, sum(setting.sizes), results.count(*place)

    places = [(one, place) for one in results.regimens if one.source == "runs" for place in results.settings(one)]
    best = max(places, key=rank, default=None)
    methods = [one for one in results.methods(*best) if one in (*METHODS, *BOUNDS)] if best else []
    if best is None or len(methods) < 2:
        return None
    return replace(setting_table(results, *best, tuple(methods)), name="headline-table")


def _table_sentence(table: Table | None) -> str:
    """ "Final accuracy in the table below, best first: iCaRL 49.5, FGP 46.4." """
    if table is None:
        return ""
    values = [(row[0].value, method) for method, row in zip(table.methods, table.rows, strict=True)]
    known = sorted(
        ((value, method) for value, method in values if value is not None and method in METHODS), reverse=True
    )
    best_first = ", ".join(f"{label(method)} {value:.1f}" for value, method in known)
    return f"Final accuracy in the table below, best first: {best_first}."
