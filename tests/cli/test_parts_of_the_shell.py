"""The pieces that print: hand-worked numbers, no processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from classgrow.cli.live import Meter, clock_text
from classgrow.cli.options import read_precision
from classgrow.cli.show import sizes_text
from classgrow.cli.tables import Table, comparison_table, mean_of, percent
from classgrow.errors import ClassgrowError
from classgrow.experiments.plan import planned_images
from classgrow.experiments.run import prepare
from classgrow.records.record import RECORD_FILE, read_record
from classgrow.report.curves import curve_of, spread
from classgrow.specs.spec import Spec


def test_percent_keeps_missing_numbers_missing() -> None:
    assert (percent(None), percent(0.0), percent(0.85149)) == ("–", "0.0", "85.1")


def test_meter_does_not_count_earlier_work_as_speed() -> None:
    """1,000 images, 400 done before; 200 more in 4 s: 50 images/s, and the remaining 400 take 8 s."""
    now = [10.0]
    meter = Meter(1000, 400, clock=lambda: now[0])
    assert meter.rate is None and meter.seconds_left is None
    meter.done, now[0] = 600, 14.0
    assert (meter.rate, meter.seconds_left) == (50.0, 8.0)


def test_clock_text() -> None:
    assert [clock_text(seconds) for seconds in (None, 9.4, 75, 3723)] == ["–", "0:09", "1:15", "1:02:03"]


def test_sizes_text() -> None:
    assert sizes_text([50, 10, 10]) == "50 + 2 x 10"
    assert sizes_text([10, 10, 3]) == "2 x 10 + 3"


def test_markdown() -> None:
    table = Table(("method", "last"), (("fgp", "90.0"),), footer=(("mean", "–"),))
    assert table.markdown() == "| method | last |\n| --- | ---: |\n| fgp | 90.0 |\n| mean | – |"


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        ([90.0, 20.0], [90.0, 20.0]),  # far apart: untouched
        ([50.0, 50.0, 52.0], [50.0, 55.0, 60.0]),  # pushed up in order
        ([99.0, 98.0], [100.0, 95.0]),  # no room above: pushed down
    ],
)
def test_names_in_the_picture_do_not_overlap(values: list[float], levels: list[float]) -> None:
    assert spread(values, gap=5.0) == levels


def test_planned_images_are_what_a_run_trains_on(finished: tuple[Path, str], tmp_path: Path) -> None:
    """4 epochs over 271 images, then 4 over 271 and 2 · 25 exemplars."""
    record = read_record(finished[0] / RECORD_FILE)
    run = prepare(Spec(dataset="digits", classes=6, phases=2, epochs=4), tmp_path)
    assert planned_images(run) == (4 * 271, 4 * 321)
    assert planned_images(run) == tuple(4 * phase.training_images for phase in record.phases)


def test_means_over_runs(finished: tuple[Path, str]) -> None:
    """Two equal runs have the mean of one, and a band of no width."""
    record = read_record(finished[0] / RECORD_FILE)
    assert mean_of([record, record]) == mean_of([record])
    curve = curve_of("fgp", [record, record])
    assert curve.classes == (2, 4) and curve.low == curve.high == curve.mean
    table = comparison_table({"fgp": [record, record]})
    assert table.columns == ("method", "2 cl.", "4 cl.", "average", "forget", "MAD")
    assert table.title.endswith("(mean of 2 seeds)")


def test_a_precision_is_one_of_three_words() -> None:
    assert [read_precision(word) for word in ("auto", "float32", "bfloat16")] == ["auto", "float32", "bfloat16"]
    with pytest.raises(ClassgrowError, match="auto, float32 or bfloat16, not 'half'"):
        read_precision("half")
