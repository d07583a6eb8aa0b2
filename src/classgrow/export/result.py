"""What an export says when it is done."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Checked:
    """How a file was compared with the model it was made from: on `photos` of the model's own and `generated` images.

    `differences`: the largest, for each output, of numbers that are divided by the largest one where that is over 1.
    """

    photos: int
    generated: int
    differences: dict[str, float]


@dataclass(frozen=True)
class Exported:
    """A written file or folder: its bytes, what it says of itself, and what compared it with the model."""

    path: Path
    size: int
    metadata: dict[str, str]
    checked_by: str
    checked: Checked

    @property
    def classes(self) -> list[str]:
        """Names in the order of the scores."""
        names: list[str] = json.loads(self.metadata["classes"])
        return names
