"""A PNG that others can read."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from classgrow.report.pixels import matrix_uri


def test_opacity_is_the_root_of_the_share() -> None:
    """Shares 0, 0.25 and 1: opacity 0, 128 (127.5 rounded to even) and 255."""
    uri = matrix_uri(np.array([[0.0, 0.25], [1.0, 0.0]]))
    image = Image.open(io.BytesIO(base64.b64decode(uri.removeprefix("data:image/png;base64,"))))
    assert (image.size, image.mode) == ((2, 2), "RGBA")
    np.testing.assert_array_equal(np.asarray(image)[..., 3], [[0, 128], [255, 0]])
