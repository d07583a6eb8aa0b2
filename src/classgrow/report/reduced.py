"""Which parts of the paper runs show, and whether in full or in reduced form."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from classgrow.report.runs import Run
from classgrow.report.settings import Setting
from classgrow.report.words import reduction_of
from classgrow.specs.paper import ITEMS, Item
from classgrow.specs.reduction import PAPER_CLASSES, PAPER_MEMORIES

_BRIEF = re.compile(r"(?:Table|Figure|Legends of figure) \w+(?:, reduced)?(?=[.:] )")


@dataclass(frozen=True)
class Part:
    """The items of the paper that a table or figure shows, by name; none for what the paper does not have."""

    items: tuple[str, ...] = ()
    reduced: bool = False

    def title(self, text: str) -> str:
        """ "Figure 6. text", "Figure 6, reduced: text", "Tables 1 and A2, reduced: text"; no item: the text alone."""
        if not self.items:
            return text
        if ITEMS[self.items[0]].kind == "value":
            return f"In the text{', reduced:' if self.reduced else '.'} {text}"
        kind = "Table" if self.items[0].startswith("table") else "Figure"
        numbers = " and ".join(map(number, self.items))
        plural = "s" if len(self.items) > 1 else ""
        return f"{kind}{plural} {numbers}{', reduced:' if self.reduced else '.'} {text}"


NO_PART = Part()


def number(name: str) -> str:
    """ "figureA2" -> "A2"."""
    return name.removeprefix("table").removeprefix("figure")


def brief(title: str) -> str:
    """The number of a table that has one, else its whole title."""
    found = _BRIEF.match(title)
    return found.group() if found else title


def part_of_paper(item: Item, runs: Iterable[Run]) -> Part:
    """The item itself: reduced if data sets, class orders, epochs or classes of its runs differ from the paper's."""
    runs = list(runs)
    reduction = reduction_of(runs)
    if reduction is None or runs[0].regimen.source == "authors":
        return Part((item.name,))
    if {run.setting.dataset for run in runs} == {one.dataset for one in item.settings}:
        reduction = replace(reduction, datasets=None)
    return Part((item.name,), bool(reduction.parts()))


def part_of_setting(setting: Setting, names: Iterable[str], methods: Iterable[str]) -> Part:
    """The named items in reduced form, where a setting that the paper does not have is a smaller one of theirs and a
    method of theirs was run. Phases of five classes belong to the appendix."""
    larger_start = len(setting.sizes) > 1 and setting.sizes[0] > setting.sizes[1]
    found = [_twin(name, setting) for name in names if larger_start or name != "figure5"]  # it starts from 50
    shown = [item for item in found if _is_smaller(setting, item) and set(item.methods) & set(methods)]
    return Part(tuple(item.name for item in shown), bool(shown))


_FIVES = {"table1": "tableA1", "tableA2": "tableA3", "figure4": "figureA4", "figure5": "figureA5"}
"""The same with five new classes a phase."""


def _twin(name: str, setting: Setting) -> Item:
    fives = len(setting.sizes) > 1 and setting.sizes[1] == 5
    return ITEMS[_FIVES.get(name, name) if fives else name]


def _is_smaller(setting: Setting, item: Item) -> bool:
    known = setting.dataset in {one.dataset for one in item.settings}
    memory = setting.memory is not None and setting.memory <= max(PAPER_MEMORIES)
    return known and memory and sum(setting.sizes) <= PAPER_CLASSES


@dataclass(frozen=True)
class Gaps:
    """What of the paper is not there in full: names of items, those without any run and those in reduced form."""

    no_run: tuple[str, ...]
    only_reduced: tuple[str, ...]


def gaps(parts: Iterable[Part]) -> Gaps:
    """Of the items that need runs, those that no part shows, and those that only reduced parts show."""
    parts = list(parts)
    shown = {name for part in parts for name in part.items}
    in_full = {name for part in parts if not part.reduced for name in part.items}
    wanted = [item.name for item in ITEMS.values() if item.has_runs]
    return Gaps(
        tuple(name for name in wanted if name not in shown),
        tuple(name for name in wanted if name in shown and name not in in_full),
    )


def numbers(names: Iterable[str]) -> str:
    """ "tables 1, A1; figures 4, 5; batch training"."""
    names = list(names)
    kinds = {kind: [number(name) for name in names if name.startswith(kind)] for kind in ("table", "figure")}
    found = [f"{kind}{'s' * (len(some) > 1)} {', '.join(some)}" for kind, some in kinds.items() if some]
    return "; ".join([*found, *("batch training" for name in names if ITEMS[name].kind == "value")])
