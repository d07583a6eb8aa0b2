"""Every plotted point, read from the axes."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest
from PIL import Image

from classgrow.records.official import official_records
from classgrow.report.figures import _STYLE, draw, figure_size, write_figure
from classgrow.report.gather import Results, gather
from classgrow.report.legends import with_room
from classgrow.report.names import LOOKS
from classgrow.report.panels import FigureData, PanelData, Series, own_figures, paper_figures
from classgrow.report.runs import run_of
from classgrow.report.trade_offs import trade_off_figures


def results_of(records) -> Results:
    return gather(map(run_of, records))


def figure_named(results: Results, name: str):
    found = [*paper_figures(results), *own_figures(results, 10)[0], *trade_off_figures(results)]
    return next(figure for figure in found if figure.name == name)


def containers(axes) -> dict:
    return {container.get_label(): container for container in axes.containers}


def points(container) -> np.ndarray:
    return container.lines[0].get_xydata()


def bars(container) -> np.ndarray:
    """(x, low, high) of each bar."""
    segments = container.lines[2][0].get_segments()
    return np.array([(segment[0][0], segment[0][1], segment[1][1]) for segment in segments])


@pytest.fixture
def results(make) -> Results:
    """Two orders of FGP, level 0.4 and 0.6, and one of iCaRL, at 1K; FGP at 2K from 50."""
    return results_of(
        [
            make("fgp", "0", 0.4),
            make("fgp", "1", 0.6),
            make("icarl", "0", 0.3),
            make("fgp", "0", 0.5, memory=2000, first=50),
        ]
    )


def test_figure_4_shows_each_point_with_its_bar(results: Results) -> None:
    """FGP: mean of (0.4, 0.6) + 0.3 falling evenly: 80 - 10/3 j, bars 10 below and above; average 65."""
    data = figure_named(results, "figure4")
    figure = draw(data)
    first, second, third, fourth = figure.axes
    fgp, icarl = containers(first)["FGP (65.0)"], containers(first)["iCaRL (45.0)"]
    classes = np.arange(10, 101, 10)
    means = 50 + 30 * (1 - np.arange(10) / 9)
    np.testing.assert_allclose(points(fgp), np.column_stack([classes, means]))
    np.testing.assert_allclose(bars(fgp), np.column_stack([classes, means - 10, means + 10]))
    np.testing.assert_allclose(points(icarl), np.column_stack([classes, means - 20]))
    assert len(icarl.lines[2]) == 0
    np.testing.assert_allclose(points(containers(fourth)["FGP (65.0)"])[:, 0], [50, 60, 70, 80, 90, 100])
    for empty in (second, third):
        assert [text.get_text() for text in empty.texts] == ["missing"]
        assert not empty.lines
    assert first.get_xlabel() == "Number of classes"
    assert first.get_ylabel() == "Incremental accuracy (%)"
    assert "Missing: End-to-End, BIC, Hou19, Mnemonics." in data.caption
    assert "No run on ImageNet-100: left out." in data.caption


def test_looks_are_the_papers(results: Results) -> None:
    axes = draw(figure_named(results, "figure4")).axes[0]
    line = containers(axes)["FGP (65.0)"].lines[0]
    assert (line.get_color(), line.get_marker()) == ("red", "o")
    assert (LOOKS["lucir"].colour, LOOKS["lucir"].marker) == ("#1f77b4", "^")
    assert all(text.get_fontweight() == "bold" for text in axes.get_legend().get_texts())
    grid = [line for line in axes.get_ygridlines() if line.get_visible()]
    assert grid
    assert all(line.get_linestyle() == "--" for line in grid)


def test_figure_5_shows_phase_accuracy_without_bars_and_the_deviation(make) -> None:
    """Groups averaged over two orders: 60, 50, 40, 50, 60, 40 -> mean 50, deviations 10 0 10 0 10 10 -> 6.67."""
    low, high = (0.5, 0.4, 0.3, 0.4, 0.5, 0.3), (0.7, 0.6, 0.5, 0.6, 0.7, 0.5)
    records = [make("fgp", order, groups=groups, first=50) for order, groups in (("0", low), ("1", high))]
    data = figure_named(results_of(records), "figure5")
    axes = draw(data).axes[0]
    container = containers(axes)["FGP (6.7)"]
    np.testing.assert_allclose(points(container), np.column_stack([range(1, 7), [60, 50, 40, 50, 60, 40]]))
    assert len(container.lines[2]) == 0
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("Phase accuracy (%)", "$N^{th}$ phase")


def test_a_deviation_of_one_order_is_called_so(make) -> None:
    data = figure_named(results_of([make("fgp", first=50)]), "figure5")
    assert any("single class order (n = 1)" in sentence for sentence in data.caption)


def test_ablation_figures_need_the_ablation(results: Results, make) -> None:
    assert [figure.name for figure in paper_figures(results)] == ["figure4", "figure5"]
    more = results_of([make("fgp", "0", 0.5), make("fgp-ce", "0", 0.4)])
    data = figure_named(more, "figure6")
    assert [len(row) for row in data.rows] == [4, 4]
    axes = draw(data).axes
    assert list(containers(axes[0])) == ["FGP, cross-entropy (55.0)", "FGP (65.0)"]
    assert list(containers(axes[4])) == ["FGP, cross-entropy (0.0)", "FGP (0.0)"]


def test_a_setting_of_its_own_has_both_views(make) -> None:
    options = {"classes": 20, "first": 4, "step": 4, "memory": 200, "epochs": 7}
    results = results_of([make("fgp", "0", 0.5, **options), make("fgp-uniform", "0", 0.4, **options)])
    figures, left_out = own_figures(results, 10)
    assert [figure.name.split("-")[0] for figure in figures] == ["curves", "figure9"]
    assert left_out == 0
    first, second = draw(figures[0]).axes
    np.testing.assert_allclose(points(containers(first)["FGP (65.0)"])[:, 0], [4, 8, 12, 16, 20])
    np.testing.assert_allclose(points(containers(second)["FGP (0.0)"])[:, 1], [50] * 5)
    assert (first.get_ylabel(), second.get_ylabel()) == ("Incremental accuracy (%)", "Phase accuracy (%)")
    assert own_figures(results, 0) == ([], 1)


def test_times_of_several_machines_warn_in_the_figure_itself(make) -> None:
    one, other = make("fgp"), make("icarl")
    moved = other.model_copy(update={"hardware": other.hardware.model_copy(update={"cpu": "another"})})
    assert "Machine: a processor, cpu, 1 threads." in figure_named(results_of([one, other]), "time").caption[0]
    warned = figure_named(results_of([one, moved]), "time")
    assert warned.words.endswith("Times come from 2 machines or thread counts: do not compare them.")


def test_accuracy_against_memory_and_time(make) -> None:
    """Two memories make a memory panel; two methods with times make a time panel: 60 s and 120 s a run."""
    results = results_of(
        [
            make("fgp", "0", 0.4),
            make("fgp", "1", 0.6),
            make("fgp", "0", 0.7, memory=2000),
            make("icarl", "0", 0.3, seconds=120.0),
        ]
    )
    memory = containers(draw(figure_named(results, "memory")).axes[0])
    np.testing.assert_allclose(points(memory["FGP"]), [[1000, 50], [2000, 70]])
    np.testing.assert_allclose(bars(memory["FGP"]), [[1000, 40, 60], [2000, 70, 70]], atol=1e-9)
    np.testing.assert_allclose(points(memory["iCaRL"]), [[1000, 30]])
    time = containers(draw(figure_named(results, "time")).axes[0])
    np.testing.assert_allclose(points(time["FGP"]), [[1, 50]])
    np.testing.assert_allclose(points(time["iCaRL"]), [[2, 30]])


def test_the_authors_files_reproduce_both_known_legends() -> None:
    """59.8 and 3.8; and the bars of order 3 (65.6) and 2 (86.4) after the first ten classes."""
    results = results_of(official_records())
    figure = figure_named(results, "figure4-authors")
    assert [len(row) for row in figure.rows] == [4, 4]
    drawn = containers(draw(figure).axes[0])["FGP (59.8)"]
    assert points(drawn)[:, 1] == pytest.approx([81.0, 73.5, 69.3, 63.2, 59.7, 57.3, 53.3, 49.3, 46.6, 44.7], abs=0.05)
    assert bars(drawn)[0] == pytest.approx([10, 65.6, 86.4], abs=0.05)
    phases = containers(draw(figure_named(results, "figure5-authors")).axes[0])["FGP (3.8)"]
    assert points(phases)[:, 1] == pytest.approx([53.6, 55.4, 48.3, 45.2, 51.8, 58.9], abs=0.06)


def test_the_same_numbers_give_the_same_files(results: Results, tmp_path) -> None:
    data = figure_named(results, "figure4")
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
        assert [path.suffix for path in write_figure(data, folder)] == [".svg", ".png"]
    for name in ("figure4.svg", "figure4.png"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


SMALL = {"classes": 20, "first": 4, "step": 4, "memory": 200, "epochs": 7}
SMALL_WORDS = (
    "Shortened: CIFAR-100 only; 1 of 5 class orders; 7 of 70 epochs (FGP's; other methods' in proportion); "
    "20 of 100 classes, 4 in the first phase, 4 in each later one; a memory of 200 images instead of 1,000 or 2,000."
)


@pytest.fixture
def small(make) -> FigureData:
    """Figure 6 of a setting with 20 classes, 7 epochs and one order: one column wide it needs several lines."""
    results = results_of([make("fgp", "0", 0.5, **SMALL), make("fgp-ce", "0", 0.4, **SMALL)])
    return next(figure for figure in own_figures(results, 10)[0] if figure.name.startswith("figure6-"))


def test_a_figure_says_what_was_shortened_below_everything_else(small: FigureData) -> None:
    figure = draw(small)
    (footer,) = figure.texts
    assert footer.get_text().replace("\n", " ") == SMALL_WORDS
    assert footer.get_text().count("\n") == 1
    box = footer.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width
    lowest = min(axes.get_tightbbox().y0 for axes in figure.axes)
    assert 0 <= box.y0 < box.y1 < lowest
    assert figure_size(small) == pytest.approx((7.4, 3.1 + 2 * 0.135 + 0.1))


def test_figure_files_carry_title_and_words(small: FigureData, tmp_path) -> None:
    svg, png = write_figure(small, tmp_path)
    title = (
        "Figure 6, reduced: Binary cross-entropy against cross-entropy; "
        "CIFAR-100, 20 classes, 4 + 4 a phase, 200 images"
    )
    with Image.open(png) as image:
        assert (image.info["Title"], image.info["Description"]) == (title, SMALL_WORDS)
    dublin_core = "{http://purl.org/dc/elements/1.1/}"
    root = ET.parse(svg).getroot()
    found = [root.find(f".//{dublin_core}{name}") for name in ("title", "description")]
    assert [element.text for element in found if element is not None] == [title, SMALL_WORDS]


def figure_of(*panels: list[tuple[float, ...]]) -> FigureData:
    """One row; a panel is a list of curves, each over 10, 20, ... classes, with bars 1 below and above."""
    methods = list(LOOKS)
    rows = tuple(
        PanelData(
            "a panel",
            "incremental",
            tuple(
                Series(
                    methods[place],
                    tuple(10.0 * (step + 1) for step in range(len(curve))),
                    curve,
                    2,
                    tuple(max(0.0, y - 1) for y in curve),
                    tuple(min(100.0, y + 1) for y in curve),
                    50.0,
                )
                for place, curve in enumerate(curves)
            ),
        )
        for curves in panels
    )
    return FigureData("some", "Some figure", "Shortened: 1 of 5 class orders.", (), (rows,))


FALLING = [(100.0 - place, 70.0 - 5 * place, 40.0 - 5 * place) for place in range(6)]
CROSSING = [(100.0, 50.0, 0.0), (0.0, 50.0, 100.0), (99.0, 98.0, 97.0), (1.0, 2.0, 3.0)]
HIGH = [(99.0, 92.0, 99.0), (90.0, 98.0, 90.0), (99.0, 90.0, 91.0), (90.0, 90.0, 99.0)]


@pytest.mark.parametrize(
    "panels",
    [
        [FALLING],
        [CROSSING],
        [HIGH],
        [FALLING[:2], CROSSING],
        [HIGH, []],
        [[*FALLING, *CROSSING]],
        [[*FALLING, *CROSSING], CROSSING],
    ],
)
def test_no_legend_hides_a_point_and_no_tick_is_above_100(panels) -> None:
    data = figure_of(*panels)
    figure = draw(data)
    figure.canvas.draw()
    for axes, panel in zip(figure.axes, data.rows[0], strict=True):
        if not panel.series:
            continue
        box = axes.get_legend().get_window_extent()
        for series in panel.series:
            for values in (series.y, series.low, series.high):
                places = axes.transData.transform(np.column_stack([series.x, values]))
                assert not any(box.contains(x, y) for x, y in places)
                assert all(axes.bbox.y0 <= y <= axes.bbox.y1 for _, y in places)
        low, high = axes.get_ylim()
        ticks = [tick for tick in axes.get_yticks() if low <= tick <= high]
        assert len(ticks) >= 3
        assert [label.get_text() for label in axes.get_yticklabels()] == [str(round(tick)) for tick in ticks]
        assert 0 <= min(ticks) < max(ticks) <= 100
        assert axes.spines["left"].get_bounds()[1] <= 100
        inside = axes.bbox.y0 <= box.y0 and box.y1 <= axes.bbox.y1
        assert inside == (len(panel.series) <= 6)


def test_a_legend_of_many_stands_between_its_panel_and_the_footer() -> None:
    data = figure_of([*FALLING, *CROSSING])
    with matplotlib.rc_context(_STYLE):
        figure = draw(data)
        figure.canvas.draw()
    axes = figure.axes[0]
    box = axes.get_legend().get_window_extent()
    assert len(axes.get_legend().get_texts()) == 10
    assert figure.texts[0].get_window_extent().y1 < box.y0
    assert box.y1 < axes.xaxis.label.get_window_extent().y0
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width


def test_room_for_a_legend_is_made_inside_0_to_100_where_it_fits() -> None:
    assert with_room((20.0, 50.0), 0.25) == (20.0, 60.0, "upper right")
    assert with_room((60.0, 99.0), 0.25) == (47.0, 99.0, "lower left")
    assert with_room((0.0, 102.0), 0.25) == (0.0, 136.0, "upper right")
