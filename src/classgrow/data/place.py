"""Where data lies: the folder a user names, or the one in the environment."""

from __future__ import annotations

import os
from pathlib import Path

from classgrow.errors import ClassgrowError


def given_folder(data_dir: Path | None) -> Path | None:
    """`data_dir`, else the folder that CLASSGROW_DATA names, else none; one that is not there is refused."""
    if data_dir is not None:
        folder, origin = Path(data_dir), "`data_dir`"
    elif os.environ.get("CLASSGROW_DATA"):
        folder, origin = Path(os.environ["CLASSGROW_DATA"]), "CLASSGROW_DATA"
    else:
        return None
    if not folder.is_dir():
        raise ClassgrowError(f"The data folder {folder} does not exist: create it, or point {origin} elsewhere.")
    return folder


def needed_folder(data_dir: Path | None, title: str, content: str) -> Path:
    """The same for data that lie nowhere else: `content` says what the folder must hold."""
    folder = given_folder(data_dir)
    if folder is None:
        raise ClassgrowError(f"{title} is read from a folder: name the one that holds {content} with `data_dir`.")
    return folder
