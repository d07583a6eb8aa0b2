"""How a model changes: the next version is written beside it, with the earlier ones, and takes its place."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from classgrow.errors import ClassgrowError
from classgrow.photos.card import write_card
from classgrow.photos.folder import (
    CONFIG,
    EARLIER,
    beside,
    earlier_versions,
    link_tree,
    put_in_place,
)
from classgrow.photos.saved import Content, read_config, write_version

Check = Callable[[Path], None]
Stays = Callable[[Path], bool]


def put_version(
    folder: Path,
    content: Content,
    sources: Mapping[str, str],
    *,
    stays: Stays = lambda earlier: True,
    check: Check = lambda new: None,
) -> list[int]:
    """The content becomes the model's present version; returns the numbers of earlier ones that were removed.

    `stays` says of an earlier version (the present one included) whether it may be kept; `check` looks at the finished
    folder before it takes its place, and may refuse it.
    """
    new = beside(folder, "new")
    old = folder if (folder / CONFIG).is_file() else None
    shutil.rmtree(new, ignore_errors=True)
    try:
        write_version(new, old, content, sources)
        write_card(new, content)
        removed = keep_earlier(new, folder, content.settings.keep, stays)
        check(new)
        put_in_place(new, folder)
    except OSError as error:
        raise ClassgrowError(
            f"Could not write the model {folder} ({error.strerror}): free some space, or choose another folder. "
            "The model is as it was."
        ) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return removed


def keep_earlier(new: Path, folder: Path, keep: int, stays: Stays) -> list[int]:
    """Link the newest `keep` earlier versions into the new folder; returns the numbers of those left behind."""
    every = earlier_versions(folder)
    with suppress(ClassgrowError):  # a damaged present version is no earlier one
        every[read_config(folder).version] = folder
    allowed = [number for number in sorted(every) if stays(every[number])]
    kept = allowed[-keep:] if keep else []
    for number in kept:
        link_tree(every[number], new / EARLIER / str(number))
    return [number for number in sorted(every) if number not in kept]
