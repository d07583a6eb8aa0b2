"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    Path | None, typer.Option("--data", help="Where data sets lie; default: the folder CLASSGROW_DATA names.")
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
Tensorboard = Annotated[
    bool, typer.Option("--tensorboard", help="Also write scalars and confusion matrices for TensorBoard.")
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads of the processor; default: all.")]
