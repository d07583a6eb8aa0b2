"""Rows of tensors, one for each class."""

from __future__ import annotations

import torch
from torch import Tensor


def without_row(values: Tensor, position: int) -> Tensor:
    """A copy without one row; the others keep their bits."""
    return torch.cat((values[:position], values[position + 1 :]))
