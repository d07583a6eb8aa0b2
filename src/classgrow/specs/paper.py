"""The paper as data: every table and figure, and what its text measures beside them, is a named list of specs.

>>> len(specs_of(ITEMS["table1"]))
240
>>> len(all_specs())
645
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from classgrow.errors import ClassgrowError, nearest_name
from classgrow.specs.orders import PUBLISHED
from classgrow.specs.reduction import (
    PAPER_CLASSES,
    PAPER_DATASETS,
    PAPER_MEMORIES,
    PaperSetting,
    Reduction,
    check_datasets,
)
from classgrow.specs.spec import Spec

Kind = Literal["table", "figure", "value", "toy", "drawing"]
Metric = Literal["final", "average", "forgetting", "mad"]
View = Literal["incremental", "phase"]

METHODS = ("icarl", "eeil", "bic", "lucir", "mnemonics", "fgp")
ABLATIONS = (
    "fgp-ce",
    "fgp-cosine",
    "fgp-dist-bce",
    "fgp-dist-kl",
    "fgp-dist-lucir",
    "fgp-uniform",
    "fgp-dist-bce-weighted",
    "norm-icarl",
)


BATCH = PaperSetting("cifar100", PAPER_CLASSES, 10, max(PAPER_MEMORIES))
"""All classes in one phase; the deviation is that of the ten groups of ten in its order. No memory is used."""


@dataclass(frozen=True)
class Panel:
    """One picture of a figure, or one column of a table."""

    setting: PaperSetting
    view: View = "incremental"


@dataclass(frozen=True)
class Item:
    """A table, a figure or a value in the text. `panels` are rows of panels (a table or a value has one row: its
    columns); toys and drawings, which need no runs of the grid, have none."""

    name: str
    title: str
    kind: Kind
    methods: tuple[str, ...] = ()
    panels: tuple[tuple[Panel, ...], ...] = ()
    metric: Metric | None = None

    @property
    def has_runs(self) -> bool:
        return bool(self.panels)

    @property
    def settings(self) -> tuple[PaperSetting, ...]:
        """The scenarios, each once, in reading order."""
        return tuple(dict.fromkeys(panel.setting for row in self.panels for panel in row))


def _settings(dataset: str, step: int, starts: tuple[str, ...] = ("scratch", "50")) -> tuple[PaperSetting, ...]:
    """(a) 1K from scratch, (b) 2K from scratch, (c) 1K from 50, (d) 2K from 50."""
    first = {"scratch": step, "50": 50}
    return tuple(PaperSetting(dataset, first[start], step, memory) for start in starts for memory in PAPER_MEMORIES)


def _table(name: str, title: str, metric: Metric, step: int) -> Item:
    columns = tuple(Panel(setting) for dataset in PAPER_DATASETS for setting in _settings(dataset, step))
    return Item(name, title, "table", METHODS, (columns,), metric)


def _curves(name: str, title: str, step: int) -> Item:
    rows = tuple(tuple(Panel(setting) for setting in _settings(dataset, step)) for dataset in PAPER_DATASETS)
    return Item(name, title, "figure", METHODS, rows)


def _phases(name: str, title: str, step: int) -> Item:
    row = tuple(Panel(setting, "phase") for dataset in PAPER_DATASETS for setting in _settings(dataset, step, ("50",)))
    return Item(name, title, "figure", METHODS, (row,))


def _ablation(
    name: str, title: str, methods: tuple[str, ...], views: tuple[View, ...] = ("incremental", "phase")
) -> Item:
    settings = _settings("cifar100", 10)
    return Item(name, title, "figure", methods, tuple(tuple(Panel(one, view) for one in settings) for view in views))


_LIST = (
    _table("table1", "Final incremental accuracy, 10 new classes per phase", "final", 10),
    _table("tableA1", "Final incremental accuracy, 5 new classes per phase", "final", 5),
    _table("tableA2", "Forgetting, 10 new classes per phase", "forgetting", 10),
    _table("tableA3", "Forgetting, 5 new classes per phase", "forgetting", 5),
    Item("figure1", "The process: select exemplars, add new classes, update the model", "drawing"),
    Item("figure2", "Distillation as preserving a bipartite graph of features and class embeddings", "drawing"),
    Item("figure3", "MNIST features with rectified and with plain cosine normalisation", "toy"),
    _curves("figure4", "Incremental accuracy, 10 new classes per phase", 10),
    _phases("figure5", "Phase accuracy from 50 classes, 10 new classes per phase", 10),
    _ablation("figure6", "Binary cross-entropy against cross-entropy", ("fgp-ce", "fgp")),
    _ablation("figure7", "Rectified against plain cosine normalisation", ("fgp-cosine", "fgp"), ("incremental",)),
    _ablation("figure8", "Distillation losses", ("fgp-dist-bce", "fgp-dist-kl", "fgp-dist-lucir", "fgp")),
    _ablation("figure9", "Weights by nearness against uniform weights", ("fgp-uniform", "fgp")),
    Item("figureA1", "Simulation in two dimensions: rectified against plain cosine normalisation", "toy"),
    _ablation("figureA2", "Measures of discrepancy with the same weights", ("fgp-dist-bce-weighted", "fgp")),
    _ablation("figureA3", "iCaRL with and without rectified cosine normalisation", ("icarl", "norm-icarl", "fgp")),
    _curves("figureA4", "Incremental accuracy, 5 new classes per phase", 5),
    _phases("figureA5", "Phase accuracy from 50 classes, 5 new classes per phase", 5),
    Item(
        "batch", "Batch training of all classes at once: MAD", "value", ("joint",), ((Panel(BATCH, "phase"),),), "mad"
    ),
)
ITEMS: dict[str, Item] = {item.name: item for item in _LIST}
"""Numbered as in the paper, A is the appendix; `batch` is the value that its section on ablations compares with."""

TOYS = {"figure1": "drawings", "figure2": "drawings", "figure3": "mnist", "figureA1": "simulation"}
"""Figures that need no runs of the grid, and the `classgrow toy` that draws them."""


def item_named(name: str) -> Item:
    """The item, or a ClassgrowError with the nearest name."""
    if name not in ITEMS:
        raise ClassgrowError(f"The paper has no {name!r}; it has {', '.join(ITEMS)}.{nearest_name(name, [*ITEMS])}")
    return ITEMS[name]


def specs_of(item: Item, reduction: Reduction | None = None) -> tuple[Spec, ...]:
    """The runs an item needs, each once. What a reduction fixes is no longer an axis of the grid: with
    classes, first, step and memory given, every scenario collapses to that one. A scenario whose first phase does
    not fit in fewer classes is left out; if none fits, a ClassgrowError says so."""
    reduction = reduction or Reduction()
    check_datasets(reduction)
    asked = [one for one in item.settings if reduction.datasets is None or one.dataset in reduction.datasets]
    settings = [setting for one in asked if (setting := one.reduced(reduction)) is not None]
    if asked and not settings:
        first = reduction.first or asked[0].first
        way = "lower `first`" if reduction.first else "add `first` and `step`"
        raise ClassgrowError(
            f"{item.name} starts from {first} classes and only {reduction.classes} are asked for: {way}."
        )
    orders = PUBLISHED if reduction.orders is None else reduction.orders
    return tuple(
        setting.spec(method, order, reduction)
        for setting in dict.fromkeys(settings)
        for method in item.methods
        for order in orders
    )


def words_for(items: Iterable[Item], reduction: Reduction) -> str:
    """What is shortened, in plain words, and which settings no longer fit and are left out."""
    settings = dict.fromkeys(setting for item in items for setting in item.settings)
    asked = [one for one in settings if reduction.datasets is None or one.dataset in reduction.datasets]
    gone = sorted({one.first for one in asked if one.reduced(reduction) is None})
    left_out = f"without the settings that start from {' or '.join(map(str, gone))} classes" if gone else ""
    return f"{reduction.words()}; {left_out}" if left_out else reduction.words()


def all_specs(items: Iterable[Item] | None = None, reduction: Reduction | None = None) -> tuple[Spec, ...]:
    """The runs of several items (all of them unless given), shared runs once."""
    chosen = ITEMS.values() if items is None else items
    return tuple(dict.fromkeys(spec for item in chosen for spec in specs_of(item, reduction)))
