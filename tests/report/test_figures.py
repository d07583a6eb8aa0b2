"""Every plotted point, read from the axes."""

from __future__ import annotations

import numpy as np
import pytest

from classgrow.records.official import official_records
from classgrow.report.figures import draw, write_figure
from classgrow.report.gather import Results, gather, run_of
from classgrow.report.names import LOOKS
from classgrow.report.panels import own_figures, paper_figures
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
