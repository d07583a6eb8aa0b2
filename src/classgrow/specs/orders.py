"""Class orders: which original class ids are learned first."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from classgrow.disk import read_regular
from classgrow.errors import ClassgrowError

PUBLISHED = ("0", "1", "2", "3", "4")
LARGEST_FILE = 16 * 2**20
"""Bytes: two million classes."""
_SEED = re.compile(r"seed:(\d+)")


def is_order_file(text: str) -> bool:
    """True if `text` is none of the order names, so it can only be a file."""
    return text not in (*PUBLISHED, "natural") and not text.startswith("seed:")


def resolve_order(text: str, class_count: int) -> tuple[int, ...]:
    """The class ids in learning order: a permutation of 0 .. class_count - 1.

    "0" to "4" are the five published lists (100 classes), "natural" is 0, 1, 2, ..., "seed:N" shuffles as
    `numpy.random.seed(N); numpy.random.shuffle(arange)` does (the habit of the field is seed:1993), and anything else
    is a file with the ids, a JSON list or separated by blanks.
    """
    if text == "natural":
        return tuple(range(class_count))
    if text in PUBLISHED:
        return _published(text, class_count)
    if text.startswith("seed:"):
        return _shuffled(text, class_count)
    return _checked(_from_file(Path(text)), class_count, text)


@cache
def published_orders() -> dict[str, tuple[int, ...]]:
    """The five lists by name."""
    content = json.loads(files("classgrow.specs").joinpath("data/class_orders.json").read_text(encoding="utf-8"))
    return {name: tuple(order) for name, order in content["orders"].items()}


def _published(name: str, class_count: int) -> tuple[int, ...]:
    order = published_orders()[name]
    if len(order) != class_count:
        raise ClassgrowError(
            f"Class order {name} is a list of {len(order)} classes and the data have {class_count}: "
            "choose `order` = natural or seed:1993."
        )
    return order


def _shuffled(text: str, class_count: int) -> tuple[int, ...]:
    match = _SEED.fullmatch(text)
    if match is None or int(match[1]) >= 2**32:
        raise ClassgrowError(
            f"{text!r} is not a seeded class order: write seed: and a whole number below 2^32, as in seed:1993."
        )
    order = np.arange(class_count)
    np.random.RandomState(int(match[1])).shuffle(order)
    return tuple(order.tolist())


def _from_file(path: Path) -> list[int]:
    if not path.is_file():
        raise ClassgrowError(
            f"The class order {str(path)!r} is neither 0 to 4, natural, seed:N nor a file: choose one of these or "
            "give the path of a file with the class ids."
        )
    try:
        content = read_regular(path, LARGEST_FILE).decode("utf-8")
        ids = json.loads(content) if content.lstrip().startswith("[") else [int(word) for word in content.split()]
    except (OSError, ValueError, RecursionError):
        ids = None
    if not isinstance(ids, list) or not all(type(value) is int for value in ids):
        raise ClassgrowError(
            f"The class order in {path} cannot be read: write the class ids as whole numbers, a JSON list or "
            "separated by blanks."
        )
    return ids


def _checked(ids: list[int], class_count: int, source: str) -> tuple[int, ...]:
    wanted = f"name each class id from 0 to {class_count - 1} once"
    outside = [value for value in ids if not 0 <= value < class_count]
    if outside:
        raise ClassgrowError(f"The class order in {source} names class {outside[0]}, which the data lack: {wanted}.")
    known: set[int] = set()
    for value in ids:
        if value in known:
            raise ClassgrowError(f"The class order in {source} names class {value} twice: {wanted}.")
        known.add(value)
    if len(ids) != class_count:
        raise ClassgrowError(f"The class order in {source} has {len(ids)} ids for {class_count} classes: {wanted}.")
    return tuple(ids)
