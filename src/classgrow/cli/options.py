"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classgrow.errors import ClassgrowError

if TYPE_CHECKING:
    from classgrow.engine.runtime import PrecisionWish

Data = Annotated[Path | None, typer.Option(help="Where data sets lie; default: the folder CLASSGROW_DATA names.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
Precision = Annotated[
    str, typer.Option(help="auto (bfloat16 where a long training is measured to be faster), float32 or bfloat16.")
]
Tensorboard = Annotated[
    bool, typer.Option("--tensorboard", help="Also write scalars and confusion matrices for TensorBoard.")
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads of the processor; default: all.")]


def read_precision(word: str) -> PrecisionWish:
    wishes: dict[str, PrecisionWish] = {"auto": "auto", "float32": "float32", "bfloat16": "bfloat16"}
    if word not in wishes:
        raise ClassgrowError(f"--precision is auto, float32 or bfloat16, not {word!r}.")
    return wishes[word]
