"""Tables of what runs recorded, as plain data; printing happens elsewhere. A missing number is a dash, never 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from classgrow import metrics
from classgrow.records.departures import departures
from classgrow.records.record import PhaseRecord, Record
from classgrow.records.summary import RunSummary, summary

DASH = "–"
SINGLE_ORDER = (
    "MAD: mean absolute deviation of the phase accuracies of this one run. Expected to be larger than the paper's, "
    "which averages five class orders first: do not compare the two."
)


@dataclass(frozen=True)
class Table:
    """Column names, rows of text, and rows set apart below them.

    words      texts in every column, not numbers
    wrapped    columns besides the first that hold texts, which take several lines where the terminal is narrow
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    footer: tuple[tuple[str, ...], ...] = ()
    title: str = ""
    notes: tuple[str, ...] = ()
    words: bool = False
    wrapped: tuple[str, ...] = ()

    def markdown(self) -> str:
        """The same for a text file."""
        rules = tuple("---" if place == 0 else "---:" for place in range(len(self.columns)))
        return "\n".join(
            f"| {' | '.join(map(_cell, row))} |" for row in (self.columns, rules, *self.rows, *self.footer)
        )


def _cell(text: str) -> str:
    """A text in a Markdown table: neither HTML nor a further cell."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


def percent(fraction: float | None) -> str:
    """0.8512 as 85.1; a missing number as a dash."""
    return DASH if fraction is None else f"{100 * fraction:.1f}"


def number(value: float | None, digits: int = 0) -> str:
    return DASH if value is None else f"{value:,.{digits}f}"


def accuracy_by(phase: PhaseRecord, rule: str) -> str:
    result = phase.rules.get(rule)
    return percent(None if result is None else result.accuracy)


def rule_names(record: Record) -> list[str]:
    """The everyday rules as column names; the one that answers for this method has a star."""
    return [f"{rule.title}*" if rule.name == record.headline else rule.title for rule in record.everyday_rules]


def run_table(record: Record) -> Table:
    """Accuracy after each phase by every everyday rule, and the numbers by which a run is known."""
    rules = [rule.name for rule in record.everyday_rules]
    return Table(
        columns=("phase", "classes", *rule_names(record)),
        rows=tuple(
            (str(phase.phase), str(phase.classes_seen), *(accuracy_by(phase, rule) for rule in rules))
            for phase in record.phases
        ),
        footer=summary_rows(record, blank=1),
        title=f"{record.method.name} on {record.resolved.dataset}: accuracy in % after each phase",
        notes=("* the rule this method predicts by", SINGLE_ORDER),
    )


def summary_rows(record: Record, blank: int) -> tuple[tuple[str, ...], ...]:
    """Average, forgetting and MAD by every everyday rule, after `blank` empty cells."""
    every = [summary(record, rule.name) for rule in record.everyday_rules]
    gap = ("",) * blank
    return (
        ("average", *gap, *(percent(one.average) for one in every)),
        ("forgetting", *gap, *(percent(one.forgetting) for one in every)),
        ("MAD", *gap, *(percent(one.mad) for one in every)),
    )


def detail_table(record: Record) -> Table:
    """The same with what each phase cost."""
    plain = run_table(record)
    extra = ("exemplars", "trained on", "loss", "seconds", "images/s")
    costs = [
        (
            str(phase.exemplars + phase.held_out),
            str(phase.training_images),
            number(phase.loss, 4),
            number(phase.seconds.total, 1),
            number(phase.images_per_second),
        )
        for phase in record.phases
    ]
    return Table(
        columns=(*plain.columns, *extra),
        rows=tuple((*row, *cost) for row, cost in zip(plain.rows, costs, strict=True)),
        footer=tuple((*row, *("",) * len(extra)) for row in plain.footer),
        title=plain.title,
        notes=plain.notes,
    )


def runs_table(records: Sequence[tuple[Path, Record]]) -> Table:
    """A line for each run, by its method's own rule."""
    rows = []
    for path, record in records:
        known = summary(record)
        memory = record.resolved.memory or record.resolved.memory_per_class
        each = "" if record.resolved.memory or not memory else " each"
        rows.append(
            (
                path.name,
                record.resolved.dataset,
                f"{record.method.name}{departures(record).words}",
                f"{number(memory)}{each}",
                str(record.seed),
                f"{len(record.phases)}/{record.phases_planned}",
                percent(known.final),
                percent(known.average),
                percent(known.forgetting),
                percent(known.mad),
            )
        )
    return Table(
        columns=("run", "data", "method", "memory", "seed", "phases", "last", "average", "forgetting", "MAD"),
        rows=tuple(rows),
        notes=(SINGLE_ORDER.replace("this one run", "each single run"),),
    )


@dataclass(frozen=True)
class Mean:
    """Several runs of one method that differ in their seed only, averaged."""

    curve: tuple[float | None, ...]
    average: float | None
    forgetting: float | None
    mad: float | None


def mean_of(records: Sequence[Record]) -> Mean:
    """Means over the runs; the deviation is that of the phase accuracies averaged over the runs, as the paper's is."""
    every: list[RunSummary] = [summary(record) for record in records]
    curve = zip(*(one.curve for one in every), strict=True)
    return Mean(
        curve=tuple(metrics.macro_accuracy(values) for values in curve),
        average=metrics.macro_accuracy([one.average for one in every]),
        forgetting=metrics.macro_accuracy([one.forgetting for one in every]),
        mad=metrics.mad_over_orders([one.phase_accuracies for one in every]),
    )


def comparison_table(groups: Mapping[str, Sequence[Record]]) -> Table:
    """Methods side by side: accuracy after each phase, average, forgetting, MAD; means where there are several runs."""
    seen = [str(phase.classes_seen) for phase in next(iter(groups.values()))[0].phases]
    rows = []
    for name, records in groups.items():
        mean = mean_of(records)
        values = (*mean.curve, mean.average, mean.forgetting, mean.mad)
        rows.append((name, *(percent(value) for value in values)))
    runs = max(len(records) for records in groups.values())
    return Table(
        columns=("method", *(f"{count} cl." for count in seen), "average", "forget", "MAD"),
        rows=tuple(rows),
        title="Accuracy in % after so many classes" + (f" (mean of {runs} seeds)" if runs > 1 else ""),
    )
