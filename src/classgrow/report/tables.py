"""Tables as values: what is in each cell, before anyone decides how it is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from classgrow.report.gather import Results, Spread
from classgrow.report.names import dataset_title, in_order, label, thousands
from classgrow.report.paper_values import paper_value
from classgrow.report.reduced import NO_PART, Part, number, part_of_paper, part_of_setting
from classgrow.report.runs import Regimen
from classgrow.report.settings import Setting
from classgrow.report.words import words
from classgrow.specs.paper import ABLATIONS, ITEMS, Item, Metric

METRIC_TITLES: dict[Metric, str] = {
    "final": "final accuracy",
    "average": "average incremental accuracy",
    "forgetting": "forgetting",
    "mad": "MAD of phase accuracy",
}
LOWER_IS_BETTER: frozenset[Metric] = frozenset({"forgetting", "mad"})
MAD_NOTE = (
    "The deviation is that of the phase accuracies averaged over class orders; with fewer than the paper's five "
    "orders it is expected to be larger."
)
BATCH_NOTE = (
    "All classes are learned in one phase; the deviation is that of the accuracies of the ten groups of ten classes in "
    "each order, averaged over the orders first. The paper prints 2.5 and does not say which groups."
)
BLOCK_NOTE = (
    "The authors' files hold blocks of ten classes, so forgetting is computed over blocks: 0.2 to 0.6 points below "
    "the class level that the paper prints."
)


@dataclass(frozen=True)
class Cell:
    """Percent: our mean with its spread over n runs, and the paper's value. None is missing, never zero."""

    value: float | None = None
    paper: float | None = None
    low: float | None = None
    high: float | None = None
    std: float | None = None
    n: int = 0

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.value is None or self.paper is None else self.value - self.paper

    @classmethod
    def of(cls, found: Spread | None, paper: float | None) -> Cell:
        """From fractions to percent."""
        if found is None:
            return cls(paper=paper)
        std = None if found.std is None else 100 * found.std
        return cls(100 * found.mean, paper, 100 * found.low, 100 * found.high, std, found.n)


@dataclass(frozen=True)
class Column:
    """A column of measured values; `group` is what neighbouring columns share. `with_paper`: the paper has some."""

    title: str
    group: str
    metric: Metric
    with_paper: bool

    @property
    def lower_is_better(self) -> bool:
        return self.metric in LOWER_IS_BETTER


@dataclass(frozen=True)
class Table:
    """Rows of methods, columns of measured values. `words` says what was shortened, `ours` whose values they are,
    `part` what of the paper this is."""

    name: str
    title: str
    words: str
    columns: tuple[Column, ...]
    methods: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    ours: str = "ours"
    part: Part = NO_PART

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(label(method) for method in self.methods)

    def is_best(self, row: int, column: int) -> bool:
        """Is this the best of our values in its column, among two or more? Joint training, which keeps every image, is
        a bound and does not compete."""
        rows = zip(self.methods, self.rows, strict=True)
        values = [None if method == "joint" else cells[column].value for method, cells in rows]
        known = [value for value in values if value is not None]
        best = min(known, default=None) if self.columns[column].lower_is_better else max(known, default=None)
        return len(known) > 1 and values[row] == best


def paper_table(results: Results, regimen: Regimen, item: Item, metric: Metric | None = None) -> Table | None:
    """A table in the paper's grid; None if no run belongs to it. Data sets without any run are left out and named.
    Rows: the paper's methods, whether they have runs or not, then others that do."""
    metric = metric or item.metric or "final"
    settings = [Setting.of_paper(one) for one in item.settings]
    present = {one.dataset for one in settings if results.methods(regimen, one)}
    if not present:
        return None
    shown = [one for one in settings if one.dataset in present]
    others = {method for one in shown for method in results.methods(regimen, one)} - set(item.methods)
    methods = (*item.methods, *in_order(others))
    cells = tuple(
        tuple(Cell.of(results.value(regimen, one, method, metric), paper_value(metric, one, method)) for one in shown)
        for method in methods
    )
    runs = [run for one in shown for method in methods for run in results.group(regimen, one, method)]
    legend = item.metric is None
    part = part_of_paper(item, runs)
    return Table(
        name=f"{item.name}{f'-{metric}' if legend else ''}{regimen.slug}",
        title=_title(item, metric, part),
        words=words(runs),
        columns=tuple(_column(one, metric) for one in shown),
        methods=methods,
        rows=cells,
        notes=tuple(_notes(regimen, metric, settings, present, item)),
        ours="authors’ files" if regimen.source == "authors" else "ours",
        part=part,
    )


def _title(item: Item, metric: Metric, part: Part) -> str:
    if item.metric is not None:
        return part.title(item.title)
    start = f"Legends of figure {number(item.name)}{', reduced:' if part.reduced else '.'}"
    return f"{start} {METRIC_TITLES[metric].capitalize().replace('Mad', 'MAD')}"


def _column(setting: Setting, metric: Metric) -> Column:
    """Joint training learns all classes at once, without a memory; no other method is in that column."""
    start = "from 50" if setting.sizes[0] == 50 else "from scratch"
    title = "all classes at once" if len(setting.sizes) == 1 else f"{thousands(setting.memory or 0)}, {start}"
    return Column(title, dataset_title(setting.dataset), metric, _is_printed(metric, setting))


def _is_printed(metric: Metric, setting: Setting) -> bool:
    """Whether the paper prints any of these values."""
    return any(paper_value(metric, setting, method) is not None for method in (*ITEMS["table1"].methods, "joint"))


def _notes(regimen: Regimen, metric: Metric, settings: Sequence[Setting], present: set[str], item: Item) -> list[str]:
    absent = [dataset_title(name) for name in dict.fromkeys(one.dataset for one in settings) if name not in present]
    notes = [f"Missing: no finished run on {name}; its columns are left out." for name in absent]
    if metric == "mad":
        notes.append(BATCH_NOTE if item.kind == "value" else MAD_NOTE)
    if metric in LOWER_IS_BETTER:
        notes.append("Lower is better.")
    if metric == "forgetting" and regimen.source == "authors":
        notes.append(BLOCK_NOTE)
    if item.metric is None:
        notes.append("Of the paper's legends only two are known (CIFAR-100 with 1K); elsewhere its value is missing.")
    return notes


def setting_table(results: Results, regimen: Regimen, setting: Setting, only: tuple[str, ...] | None = None) -> Table:
    """One setting with every metric; the paper's values beside them where it has any. All methods, or `only` some."""
    methods = only or results.methods(regimen, setting)
    metrics: tuple[Metric, ...] = ("final", "average", "forgetting", "mad")
    runs = [run for method in methods for run in results.group(regimen, setting, method)]
    orders = {run.order for run in runs}
    part = NO_PART if setting.in_paper else part_of_setting(setting, ("table1", "tableA2"), methods)
    absent = "The paper has no such setting, so there is nothing to compare with. "
    return Table(
        name=f"{setting.slug}{regimen.slug}",
        title=part.title(setting.title + regimen.changes),
        words=words(runs),
        columns=tuple(Column(METRIC_TITLES[one], "", one, _is_printed(one, setting)) for one in metrics),
        methods=methods,
        rows=tuple(
            tuple(
                Cell.of(results.value(regimen, setting, method, metric), paper_value(metric, setting, method))
                for metric in metrics
            )
            for method in methods
        ),
        notes=(
            f"{'' if setting.in_paper else absent}Forgetting and MAD: lower is better.",
            *((MAD_NOTE,) if len(orders) < 5 else ()),
        ),
        part=part,
    )


def paper_tables(results: Results) -> list[Table]:
    """The paper's four tables and the numbers of its main figures' legends, for each way runs were trained."""
    wanted: list[tuple[str, Metric | None]] = [
        *((name, None) for name in ("table1", "tableA1", "tableA2", "tableA3", "batch")),
        *(("figure4", "average"), ("figure5", "mad"), ("figureA4", "average"), ("figureA5", "mad")),
    ]
    found = [
        paper_table(results, regimen, ITEMS[name], metric) for regimen in results.regimens for name, metric in wanted
    ]
    return [table for table in found if table is not None]


def own_tables(results: Results) -> list[Table]:
    """A table for each setting that the paper does not have."""
    return [
        setting_table(results, regimen, setting)
        for regimen in results.regimens
        for setting in results.settings(regimen)
        if not setting.in_paper
    ]


def is_ablation(method: str) -> bool:
    return method in ABLATIONS
