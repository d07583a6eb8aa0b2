"""What a run recorded, for TensorBoard: scalars after every phase and the confusion matrix. Needs `tensorboard`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import numpy as np

from classgrow.errors import ClassgrowError
from classgrow.records.record import Record
from classgrow.records.summary import summary

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch.utils.tensorboard import SummaryWriter

FOLDER = "tensorboard"
"""Below the output folder of runs: each run has a folder of its own there, named by method and identity."""


def summary_writer() -> type[SummaryWriter]:
    """TensorBoard's writer, or a ClassgrowError with the way to get it."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ClassgrowError("TensorBoard is not installed: pip install 'classgrow[tensorboard]'.") from None
    return SummaryWriter


class TensorboardLog:
    """Hears of a run through `after_phase`; the step of every scalar is the number of classes seen."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._make = summary_writer()
        self._writer: SummaryWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def after_phase(self, record: Record) -> None:
        """Write what the newest phase gave."""
        if self._writer is None:
            self._writer = self._make(str(self.folder / f"{record.resolved.method}-{record.identity}"))
            self._writer.add_text("objective", record.method.formula)
        phase = record.phases[-1]
        for name, value in scalars(record).items():
            self._writer.add_scalar(name, value, phase.classes_seen)
        if record.confusion is not None:
            self._writer.add_figure("confusion", confusion_figure(record), phase.classes_seen)
        self._writer.flush()


@contextmanager
def tensorboard_log(output: Path | None) -> Iterator[Callable[[Record], None]]:
    """What to call after each phase of runs below `output`; None: a call that does nothing."""
    if output is None:
        yield lambda record: None
        return
    with TensorboardLog(output / FOLDER) as log:
        yield log.after_phase


def scalars(record: Record) -> dict[str, float]:
    """Names and values of the newest phase; what a run lacks is left out."""
    phase, known = record.phases[-1], summary(record)
    values: dict[str, float | None] = {
        f"accuracy/{rule}": result.accuracy for rule, result in phase.rules.items() if result is not None
    }
    values |= {
        "average": known.average,
        "forgetting": known.forgetting,
        "loss": phase.loss,
        "speed/images_per_second": phase.images_per_second,
        "seconds/train": phase.seconds.train,
        "seconds/total": phase.seconds.total,
    }
    return {name: float(value) for name, value in values.items() if value is not None}


def confusion_figure(record: Record) -> Figure:
    """Shares of each true class (rows) by prediction (columns)."""
    from matplotlib.figure import Figure

    counts = np.asarray(record.confusion, dtype=float)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    figure = Figure(figsize=(5, 4.4), layout="constrained")
    axes = figure.add_subplot()
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    axes.set_xlabel("predicted (in learning order)")
    axes.set_ylabel("true")
    axes.set_title(f"{record.method.name}, {len(counts)} classes")
    figure.colorbar(image, ax=axes, fraction=0.046)
    return figure
