"""A model as a torch.export program (.pt2): it answers wherever torch is, without classgrow."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from torch import Tensor
from torch.export import ExportedProgram

from classgrow.export.checking import Run, check_for
from classgrow.export.contents import Model
from classgrow.export.graph import PIXELS, program_of
from classgrow.export.result import Exported
from classgrow.export.writing import replacing, with_ending

METADATA = "classgrow.json"


def write_torch(model: Model, path: Path | str) -> Exported:
    """Write the model as one .pt2 file that takes uint8 images (N, H, W, C), checked as `write_onnx` does.

    Its metadata lie in the extra file "classgrow.json" of the archive.
    """
    path = with_ending(path, ".pt2")
    check = check_for(model)
    contents = check.contents
    program = without_traces(program_of(contents, PIXELS))
    with replacing(path) as temporary:
        with temporary.open("wb") as file:
            said = json.dumps(contents.metadata(), ensure_ascii=False)
            torch.export.save(program, file, extra_files={METADATA: said})
        with check.runtime.active():
            found = check.compare(loaded(temporary, PIXELS.outputs(contents)), PIXELS)
    return Exported(path, path.stat().st_size, contents.metadata(), f"torch {torch.__version__}", found)


def without_traces(program: ExportedProgram) -> ExportedProgram:
    """The program without the lines of code it was traced from: they name folders of this machine."""
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            for node in module.graph.nodes:
                node.meta.pop("stack_trace", None)
    return program


def loaded(path: Path, names: tuple[str, ...]) -> Run:
    """The file as torch runs it."""
    with path.open("rb") as file:
        module = torch.export.load(file).module()

    def run(values: Tensor) -> dict[str, Tensor]:
        with torch.no_grad():
            return dict(zip(names, module(values), strict=True))

    return run
