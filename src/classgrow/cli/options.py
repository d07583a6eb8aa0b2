"""What the commands ask for: every option with its help. The name of a parameter is the name of its option."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from classgrow.errors import ClassgrowError

if TYPE_CHECKING:
    from classgrow.engine.runtime import PrecisionWish

# --- of several commands ---------------------------------------------------------------------------------------------

Data = Annotated[
    Path | None, typer.Option("--data", help="Where data sets lie; default: the folder CLASSGROW_DATA names.")
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")]
Precision = Annotated[
    str, typer.Option(help="auto (bfloat16 where a long training is measured to be faster), float32 or bfloat16.")
]
Tensorboard = Annotated[
    bool, typer.Option("--tensorboard", help="Also write scalars and confusion matrices for TensorBoard.")
]
Threads = Annotated[int | None, typer.Option(min=1, help="Threads of the processor; default: all.")]

# --- the settings of a run -------------------------------------------------------------------------------------------

SpecFile = Annotated[
    Path | None, typer.Argument(metavar="SPEC.toml", help="Settings in a TOML file; flags override them.")
]
DatasetName = Annotated[str | None, typer.Option(help="cifar100 (default), digits, mnist, ...")]
MethodName = Annotated[str | None, typer.Option(help="A name that `classgrow methods` lists; default fgp.")]
RuleName = Annotated[str | None, typer.Option(help="The rule that answers; default: the method's own.")]
NetworkName = Annotated[
    str | None, typer.Option(help="small, resnet32, resnet18 or an installed one; default: the preset's.")
]
PresetName = Annotated[
    str | None, typer.Option(help="digits, cifar or imagenet: network and recipe; default: by image size.")
]
Memory = Annotated[int | None, typer.Option(help="Exemplars in total; default: the paper's.")]
MemoryPerClass = Annotated[int | None, typer.Option(help="Exemplars of each class, instead of --memory.")]
First = Annotated[int | None, typer.Option(help="Classes of the first phase.")]
Step = Annotated[int | None, typer.Option(help="Classes of every later phase.")]
Order = Annotated[str | None, typer.Option(help="0 to 4 (the published lists), natural, seed:N or a file.")]
Seed = Annotated[int | None, typer.Option(help="Decides every random draw; default 1.")]
Epochs = Annotated[int | None, typer.Option(help="Epochs of the first phase; the schedule scales with it.")]
Phases = Annotated[int | None, typer.Option(help="Stop after this many phases; more can follow later.")]
Classes = Annotated[int | None, typer.Option(help="Learn only the first so many classes of the order.")]
Profile = Annotated[str | None, typer.Option(help="official (each method's own epochs), matched or fast.")]
Selection = Annotated[str | None, typer.Option(help="Exemplars by herding (default), random or closest.")]
LearningRate = Annotated[float | None, typer.Option(help="First learning rate; later ones in proportion.")]
MethodOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=NUMBER", help="A number of the method's own, as strength=0.5."),
]

# --- how a run is carried out ----------------------------------------------------------------------------------------

RunOutput = Annotated[Path, typer.Option(help="Where the run's folder is made.")]
ModelOutput = Annotated[
    Path | None, typer.Option("--model", help="Also write the result as a model, as `classgrow learn` makes them.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse a folder of images with files that must be skipped.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")]
Again = Annotated[
    bool, typer.Option("--again", help="Start afresh where the run is recorded already; its record is removed.")
]
Processes = Annotated[
    int | None, typer.Option(min=1, help="Processes that share every batch, on this machine; default 1.")
]
CompileWord = Annotated[str, typer.Option(help="auto (where it pays), on or off.")]

# --- the paper's grid ------------------------------------------------------------------------------------------------

ItemNames = Annotated[list[str] | None, typer.Argument(metavar="ITEM...", help="As --list shows; all if none.")]
ListItems = Annotated[bool, typer.Option("--list", help="Show every item and what is missing; run nothing.")]
Estimate = Annotated[bool, typer.Option("--estimate", help="Show what it would cost on --devices; run nothing.")]
Devices = Annotated[str, typer.Option(help="For --estimate: how many, one number or several.")]
ImagesPerSecond = Annotated[
    str | None,
    typer.Option(help="For --estimate: of a device, as in 2000 or cifar=2000,imagenet=300; default: measured here."),
]
Wire = Annotated[float, typer.Option(min=0.001, help="For --estimate: GB/s between two devices.")]
GridDataset = Annotated[str | None, typer.Option(help="cifar100 or imagenet100; default: both.")]
GridOrders = Annotated[str | None, typer.Option(help="Class orders, as in 0,1,2; default: all five.")]
GridEpochs = Annotated[int | None, typer.Option(min=1, help="Epochs of the first phase, instead of the paper's.")]
GridClasses = Annotated[int | None, typer.Option(min=1, help="Only the first so many classes.")]
GridFirst = Annotated[int | None, typer.Option(min=1, help="Classes of the first phase.")]
GridStep = Annotated[int | None, typer.Option(min=1, help="Classes of every later phase.")]
GridMemory = Annotated[int | None, typer.Option(min=1, help="Exemplars in total.")]
GridProfile = Annotated[str, typer.Option(help="official (each method's own epochs), matched or fast.")]
GridMethods = Annotated[str | None, typer.Option(help="Only these methods, as in fgp,icarl.")]
GridOutput = Annotated[Path, typer.Option(help="Where the runs lie.")]
Workers = Annotated[int, typer.Option(min=1, help="Runs side by side on this machine.")]
RayAddress = Annotated[str | None, typer.Option(help="A Ray cluster instead: its address, or auto.")]


def read_precision(word: str) -> PrecisionWish:
    """The word after --precision, checked."""
    wishes: dict[str, PrecisionWish] = {"auto": "auto", "float32": "float32", "bfloat16": "bfloat16"}
    if word not in wishes:
        raise ClassgrowError(f"--precision is auto, float32 or bfloat16, not {word!r}.")
    return wishes[word]
