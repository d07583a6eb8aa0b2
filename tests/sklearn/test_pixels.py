"""Rows of numbers become images, by hand-worked values."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'classgrow[sklearn]'")

from classgrow.errors import ClassgrowError
from classgrow.sklearn.pixels import PixelFormat, format_for, rows_of, square_for, with_channels


@pytest.mark.parametrize(("values", "shape"), [(1, (1, 1, 1)), (64, (8, 8, 1)), (3, (1, 1, 3)), (3072, (32, 32, 3))])
def test_a_square_in_grey_or_colour(values: int, shape: tuple[int, int, int]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert square_for(values) == shape


@pytest.mark.parametrize(("values", "side"), [(2, 2), (10, 4), (785, 29)])
def test_other_rows_become_the_next_square_with_a_warning(values: int, side: int) -> None:
    with pytest.warns(UserWarning, match=f"Rows of {values} values are not square images.*`image_shape`"):
        assert square_for(values) == (side, side, 1)


def test_values_are_scaled_cut_off_and_filled_with_black() -> None:
    """Black is -1 and white is 1: -1 -> 0, 0 -> 127.5 -> 128 (even), 1 -> 255, 3 -> 255."""
    images = PixelFormat((2, 2, 1), -1.0, 1.0).images(np.array([[-1.0, 0.0, 1.0], [3.0, -9.0, 0.2]]))
    assert images.dtype == np.uint8
    assert images[..., 0].tolist() == [[[0, 128], [255, 0]], [[255, 0], [153, 0]]]


def test_uint8_stays_as_it_is_and_keeps_its_memory() -> None:
    rows = np.array([[7, 9, 11, 13]], dtype=np.uint8)
    form = format_for(rows, None, None, None)
    assert form == PixelFormat((2, 2, 1), 0.0, 255.0)
    assert np.shares_memory(form.images(rows), rows)
    assert np.array_equal(form.images(rows.astype(float)), form.images(rows))


@pytest.mark.parametrize(
    ("rows", "given", "expected"),
    [
        ([[0.0, 16.0, 3.0, 4.0]], None, (0.0, 16.0)),
        ([[0.2, 0.7, 0.3, 0.4]], (0, 1), (0.0, 1.0)),
        ([[5.0, 5.0, 5.0, 5.0]], None, (5.0, 6.0)),
    ],
)
def test_the_range_is_the_one_given_or_seen(
    rows: list[list[float]], given: tuple[int, int] | None, expected: object
) -> None:
    form = format_for(np.array(rows), None, None, given)
    assert (form.black, form.white) == expected


def test_colour_rows_are_pixel_by_pixel() -> None:
    images = np.arange(24, dtype=np.uint8).reshape(2, 2, 2, 3)
    rows, shape = rows_of(images)
    assert shape == (2, 2, 3) and rows.tolist()[0] == list(range(12))
    assert np.array_equal(format_for(rows, None, (2, 2, 3), None).images(rows), images)


def test_a_list_of_images_is_stacked_and_a_list_of_rows_is_left_alone() -> None:
    rows, shape = rows_of([np.zeros((2, 2)), np.ones((2, 2))])
    assert shape == (2, 2) and rows.tolist() == [[0.0] * 4, [1.0] * 4]
    given = [[1.0, 2.0], [3.0, 4.0]]
    assert rows_of(given) == (given, None)


def test_shapes_that_do_not_fit_are_refused() -> None:
    rows = np.zeros((1, 64))
    with pytest.raises(ClassgrowError, match=r"`image_shape` = \(10, 10\) does not fit rows of 64 values"):
        format_for(rows, None, (10, 10), None)
    with pytest.raises(ClassgrowError, match=r"`image_shape` = \(4, 16\) does not fit images of shape \(8, 8\)"):
        format_for(rows, (8, 8), (4, 16), None)
    with pytest.raises(ClassgrowError, match=r"`value_range` = \(1, 0\) is empty"):
        format_for(rows, None, None, (1, 0))
    with pytest.raises(ClassgrowError, match=r"`image_shape` = \(8,\) does not fit"):
        with_channels((8,))
    with pytest.raises(ValueError, match=r"shape \(4, 16\), those learned from \(8, 8, 1\)"):
        PixelFormat((8, 8, 1), 0.0, 1.0).check((4, 16))
