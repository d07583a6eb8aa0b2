"""A model as the folder that transformers.js reads in a browser: two JSON files and onnx/model.onnx."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from classgrow import bundle, checkpoint
from classgrow.errors import ClassgrowError
from classgrow.export.checking import check_for
from classgrow.export.contents import Contents, Model
from classgrow.export.graph import VALUES
from classgrow.export.onnx_file import checker, require_onnx, session, write_graph
from classgrow.export.result import Exported
from classgrow.json_values import JsonDict

CONFIG, PREPARATION, MODEL = "config.json", "preprocessor_config.json", "onnx/model.onnx"
LANCZOS = 1
"""The only filter with which transformers.js averages over the pixels it leaves out; browsers use their own."""


def write_transformers(model: Model, folder: Path | str) -> Exported:
    """Write a folder for transformers.js' image classification: its model takes normalised pixels (N, 3, H, W) and
    returns logits whose softmax is the calibrated probability.

    It is checked as `write_onnx` does before it takes its place, also that of an earlier export.
    """
    folder = Path(folder).absolute()
    refuse_other_content(folder)
    require_onnx()
    check = check_for(model)
    contents = check.contents
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        (unfinished / MODEL).parent.mkdir(parents=True)
        write_graph(contents, VALUES, unfinished / MODEL)
        found = check.compare(session(unfinished / MODEL, check.runtime), VALUES)
        for name, values in ((CONFIG, config(contents)), (PREPARATION, preparation(contents))):
            text = json.dumps(values, indent=2, ensure_ascii=False) + "\n"
            checkpoint.write_atomically(unfinished / name, text.encode())
        bundle.put_in_place(unfinished, folder)
    except OSError as error:
        raise ClassgrowError(f"Could not write {folder} ({error.strerror}): choose another folder.") from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Exported(folder, size, contents.metadata(), checker(), found)


def config(contents: Contents) -> JsonDict:
    """config.json. `model_type` is one that the library knows for images and logits; the graph is what counts."""
    numbered = {str(number): name for number, name in enumerate(contents.classes)}
    return {
        "model_type": "resnet",
        "architectures": ["ResNetForImageClassification"],
        "num_labels": len(numbered),
        "id2label": dict(numbered),
        "label2id": {name: int(number) for number, name in numbered.items()},
        "transformers.js_config": {"dtype": "fp32"},  # else browsers ask for a quantised file
        "classgrow": dict(contents.metadata()),
    }


def preparation(contents: Contents) -> JsonDict:
    """preprocessor_config.json: the same square from the middle of a photo as `predict` takes, normalised."""
    size, inputs = contents.inputs.size, contents.inputs
    colours = 3 // inputs.channels
    return {
        "image_processor_type": "BitImageProcessor",  # the one that only resizes, crops and normalises
        "do_convert_rgb": True,
        "do_resize": True,
        "size": {"shortest_edge": contents.side},
        "resample": LANCZOS,
        "do_center_crop": True,
        "crop_size": {"height": size, "width": size},
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": list(inputs.mean) * colours,
        "image_std": list(inputs.std) * colours,
    }


def refuse_other_content(folder: Path) -> None:
    """Only a new or empty folder, or an earlier export, may be written to."""
    if not folder.exists() and not folder.is_symlink():
        return
    if folder.is_symlink() or not folder.is_dir():
        raise ClassgrowError(f"{folder} is not a folder: choose another place to export to.")
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if files and files != {CONFIG, PREPARATION, MODEL}:
        other = min(files - {CONFIG, PREPARATION, MODEL} or files)
        raise ClassgrowError(f"{folder} holds something else ({other}): choose an empty or a new folder.")
