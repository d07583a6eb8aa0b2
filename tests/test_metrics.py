"""Hand-worked numbers, and the published result files."""

from __future__ import annotations

import csv
from collections import defaultdict
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classgrow import metrics

Runs = dict[str, list[list[float | None]]]  # order -> phases -> accuracy of each block of ten classes


def test_classes_learned_at_once_are_compared_in_groups_of_ten() -> None:
    """Batch training of 100 classes has the ten groups of a run in ten phases."""
    assert metrics.compared_groups([100]) == (10,) * 10
    assert metrics.compared_groups([25]) == (10, 10, 5)
    assert metrics.compared_groups([3]) == (3,)
    assert metrics.compared_groups([50, 10, 10]) == (50, 10, 10)


def test_confusion_counts_true_rows_and_predicted_columns() -> None:
    counts = metrics.confusion([0, 0, 1, 1, 1], [0, 1, 1, 1, 0], 3)
    assert counts.tolist() == [[1, 1, 0], [1, 2, 0], [0, 0, 0]]


def test_per_class_accuracy_of_a_class_without_images_is_missing() -> None:
    """Class 0: 1 of 2 right, class 1: 2 of 3, class 2: no test images."""
    counts = metrics.confusion([0, 0, 1, 1, 1], [0, 1, 1, 1, 0], 3)
    assert metrics.per_class_accuracy(counts) == [0.5, pytest.approx(2 / 3), None]


@pytest.mark.parametrize(("labels", "predictions"), [([0, 3], [0, 0]), ([0, 1], [0, -1]), ([0, 1], [0])])
def test_confusion_refuses_what_does_not_fit(labels: list[int], predictions: list[int]) -> None:
    with pytest.raises(ValueError, match=r"outside|pair up"):
        metrics.confusion(labels, predictions, 3)


def test_incremental_accuracy_counts_images_and_macro_counts_classes() -> None:
    """30 images at 0.5 and 10 at 0.9: (15 + 9) / 40 = 0.6 over images, (0.5 + 0.9) / 2 = 0.7 over classes."""
    assert metrics.incremental_accuracy([0.5, 0.9], [30, 10]) == pytest.approx(0.6)
    assert metrics.macro_accuracy([0.5, 0.9]) == pytest.approx(0.7)


def test_missing_stays_missing() -> None:
    assert metrics.incremental_accuracy([0.5, None], [30, 0]) == 0.5  # no images, no weight
    assert metrics.incremental_accuracy([0.5, None], [30, 10]) is None
    assert metrics.incremental_accuracy([None], [0]) is None
    assert metrics.macro_accuracy([None, None]) is None
    assert metrics.macro_accuracy([None, 0.25]) == 0.25
    assert metrics.average_incremental_accuracy([0.9, None]) is None
    assert metrics.average_incremental_accuracy([]) is None
    assert metrics.mean_absolute_deviation([0.4, None]) is None
    assert metrics.mean_absolute_deviation([]) is None
    assert metrics.forgetting([[0.9], None, [0.5, 0.5]]) is None


def test_average_includes_the_first_phase() -> None:
    assert metrics.average_incremental_accuracy([0.9, 0.6, 0.3]) == pytest.approx(0.6)


def test_phase_accuracy_pools_each_phases_classes() -> None:
    """Phases of 2 and 1 classes: (10 x 0.2 + 30 x 0.6) / 40 = 0.5, and 0.8 alone."""
    assert metrics.phase_accuracy([0.2, 0.6, 0.8], [10, 30, 10], [2, 1]) == pytest.approx([0.5, 0.8])


def test_phase_accuracy_refuses_sizes_that_do_not_add_up() -> None:
    with pytest.raises(ValueError, match="2 classes in all and 3"):
        metrics.phase_accuracy([0.2, 0.6, 0.8], [10, 30, 10], [1, 1])


def test_mean_absolute_deviation() -> None:
    """Mean 0.5, deviations 0.3, 0.1, 0.4: 0.8 / 3. One phase does not deviate."""
    assert metrics.mean_absolute_deviation([0.2, 0.4, 0.9]) == pytest.approx(0.8 / 3)
    assert metrics.mean_absolute_deviation([0.7]) == 0.0


def test_mad_over_orders_averages_before_it_deviates() -> None:
    """Two orders that deviate in opposite ways by 0.2 have the mean phases 0.5, 0.5 and so no deviation."""
    assert metrics.mad_over_orders([[0.3, 0.7], [0.7, 0.3]]) == pytest.approx(0.0)
    assert metrics.mad_over_orders([[0.3, 0.7], [0.5, 0.5]]) == pytest.approx(0.1)


def test_forgetting_is_best_before_minus_last() -> None:
    """Class 0: max(0.9, 0.95) - 0.5 = 0.45. Class 1 (phase 2): 0.6 - 0.7 = -0.1, kept. Class 2 is new and left out."""
    matrix = [[0.9], [0.95, 0.6], [0.5, 0.7, 0.8]]
    assert metrics.forgetting_per_class(matrix) == pytest.approx([0.45, -0.1])
    assert metrics.forgetting(matrix) == pytest.approx(0.175)


def test_forgetting_after_one_phase_is_missing_not_zero() -> None:
    assert metrics.forgetting([[0.9, 0.8]]) is None
    assert metrics.forgetting_per_class([[0.9, 0.8]]) is None
    assert metrics.forgetting([]) is None


def test_forgetting_leaves_out_classes_without_test_images() -> None:
    matrix = [[0.9, None], [0.5, None, 0.8]]
    assert metrics.forgetting_per_class(matrix) == [pytest.approx(0.4), None]
    assert metrics.forgetting(matrix) == pytest.approx(0.4)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60))
def test_incremental_accuracy_is_the_share_of_right_answers(pairs: list[tuple[int, int]]) -> None:
    labels, predictions = [label for label, _ in pairs], [prediction for _, prediction in pairs]
    counts = metrics.confusion(labels, predictions, 5)
    accuracy = metrics.incremental_accuracy(metrics.per_class_accuracy(counts), counts.sum(axis=1).tolist())
    assert accuracy == pytest.approx(sum(label == prediction for label, prediction in pairs) / len(pairs))


# The authors' result files: final accuracy, average, MAD and forgetting over blocks, in percent, means of five orders.
PUBLISHED = {
    ("cifar100", 10, 1000, "classifier"): (30.74, 51.85, 11.00, 56.81),
    ("cifar100", 10, 1000, "nearest"): (44.72, 59.80, 4.00, 24.77),
    ("cifar100", 10, 2000, "classifier"): (38.82, 57.72, 9.01, 46.49),
    ("cifar100", 10, 2000, "nearest"): (47.24, 62.05, 3.26, 21.92),
    ("cifar100", 50, 1000, "classifier"): (37.94, 52.28, 16.28, 46.08),
    ("cifar100", 50, 1000, "nearest"): (52.76, 62.90, 3.78, 17.42),
    ("cifar100", 50, 2000, "classifier"): (44.90, 57.54, 13.42, 37.31),
    ("cifar100", 50, 2000, "nearest"): (54.02, 63.62, 3.29, 15.77),
    ("imagenet100", 10, 1000, "classifier"): (30.10, 52.03, 11.77, 64.98),
    ("imagenet100", 10, 1000, "nearest"): (55.06, 67.67, 7.90, 24.12),
    ("imagenet100", 10, 2000, "classifier"): (39.24, 59.11, 10.38, 54.55),
    ("imagenet100", 10, 2000, "nearest"): (57.02, 69.50, 7.36, 22.96),
    ("imagenet100", 50, 1000, "classifier"): (36.14, 51.84, 17.53, 55.65),
    ("imagenet100", 50, 1000, "nearest"): (61.88, 70.03, 4.19, 18.04),
    ("imagenet100", 50, 2000, "classifier"): (45.22, 58.49, 14.35, 45.24),
    ("imagenet100", 50, 2000, "nearest"): (62.64, 70.49, 4.22, 17.28),
}


@pytest.fixture(scope="module")
def official() -> dict[tuple[str, int, int, str], Runs]:
    text = files("classgrow.specs").joinpath("data/official_results.csv").read_text(encoding="utf-8")
    found: dict[tuple[str, int, int, str], Runs] = defaultdict(lambda: defaultdict(list))
    for row in csv.DictReader(text.splitlines()):
        phases = found[row["dataset"], int(row["initial"]), int(row["memory"]), row["classifier"]][row["order"]]
        if row["class_group"] == "all":
            phases.append([])
        else:
            phases[-1].append(float(row["accuracy"]))
    return found


def test_the_official_files_are_the_sixteen_known_ones(official: dict[tuple[str, int, int, str], Runs]) -> None:
    assert set(official) == set(PUBLISHED)
    assert all(sorted(runs) == ["0", "1", "2", "3", "4"] for runs in official.values())


@pytest.mark.parametrize("key", PUBLISHED, ids=lambda key: "-".join(map(str, key)))
def test_the_official_files_give_the_published_numbers(
    key: tuple[str, int, int, str], official: dict[tuple[str, int, int, str], Runs]
) -> None:
    """Blocks of ten classes stand for classes, each with the test images of ten; the 50 first classes are five."""
    images = 10 * (100 if key[0] == "cifar100" else 50)
    sizes = [key[1] // 10] + [1] * (10 - key[1] // 10)
    finals, averages, losses, phases = [], [], [], []
    for matrix in official[key].values():
        curve = [metrics.incremental_accuracy(row, [images] * len(row)) for row in matrix]
        finals.append(curve[-1])
        averages.append(metrics.average_incremental_accuracy(curve))
        losses.append(metrics.forgetting(matrix))
        phases.append(metrics.phase_accuracy(matrix[-1], [images] * 10, sizes))
    mean = metrics.average_incremental_accuracy  # a plain mean
    found = [mean(finals), mean(averages), metrics.mad_over_orders(phases), mean(losses)]
    assert [100 * value for value in found if value is not None] == pytest.approx(PUBLISHED[key], abs=0.05)
