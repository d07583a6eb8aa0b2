"""The way in: a JSON file that anyone may have written, of this format or an older one."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from classgrow.errors import ClassgrowError
from classgrow.json_values import Json
from classgrow.records.format_1 import as_format_2
from classgrow.records.words import printable
from classgrow.specs.spec import Spec

LARGEST_FILE = 256 * 2**20
"""Bytes: a run of 1,000 classes in 100 phases takes 10 MB."""


def read_json(path: Path, usual_name: str) -> Json:
    """The content of a record's file. One that does not exist, is not a file, is too large or is not JSON is a
    ClassgrowError; a file without the `usual_name` is most likely something else."""
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise unreadable(path, "it is not a regular file")
        if about.st_size > LARGEST_FILE:
            raise unreadable(path, f"it has more than {LARGEST_FILE // 2**20} MB")
        content: Json = json.loads(path.read_text(encoding="utf-8"))
        return content
    except FileNotFoundError:
        shown = printable(str(path))
        raise ClassgrowError(f"There is no record {shown}: check the path or run the experiment.") from None
    except (OSError, ValueError, RecursionError) as error:
        if path.name != usual_name:
            raise ClassgrowError(
                f"{printable(str(path))} is not a record of a run: give a run's folder, or a folder of runs."
            ) from None
        raise unreadable(path, _reason(error)) from None


def in_current_format(content: object, version: int) -> object:
    """The content with its older forms replaced. A spec with settings that this version does not know is set aside as
    text: the run's results can be read all the same."""
    if not isinstance(content, dict):
        return content
    if version == 1:
        content = as_format_2(content)
    content = content | {"execution": _with_precision(content.get("execution"))} if "execution" in content else content
    spec = content.get("spec")
    if isinstance(spec, dict) and not spec.keys() <= Spec.model_fields.keys():
        content = content | {"spec": None, "unread_spec": json.dumps(spec)}
    return content


def _with_precision(execution: object) -> object:
    """Earlier versions said `mixed` where the backbone computed in bfloat16."""
    if not isinstance(execution, dict) or not isinstance(execution.get("mixed"), bool) or "precision" in execution:
        return execution
    rest = {name: value for name, value in execution.items() if name != "mixed"}
    return rest | {"precision": "bfloat16" if execution["mixed"] else "float32"}


def unreadable(path: Path, reason: str) -> ClassgrowError:
    """Nobody is asked to delete what may be the only copy of a result."""
    return ClassgrowError(
        f"The record {printable(str(path))} cannot be read ({printable(reason)}). The file is kept as it is: bring "
        "back a good copy of it, or run the experiment again in another folder."
    )


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    if isinstance(error, RecursionError):
        return "lists within lists without end"
    return str(error).partition("; use sys.set_int_max_str_digits")[0]
