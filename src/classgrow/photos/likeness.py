"""Which photos are nearly the same picture: saved again, resized, a little brighter or cropped by a hair.

A perceptual hash finds the few pairs worth comparing, and small grey pictures decide. Mirrored, turned or strongly
cropped copies are not found.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from PIL import Image

SIDE = 32
"""Pixels along a side of the small grey picture."""
MOST_BITS = 10
"""Of 63 bits of the hash that may differ. Unrelated photos differ in 31 or so."""
SIMILAR = 0.92
"""Correlation of the grey pictures, 16 x 16, from which two photos count as one."""
MANY = 50
"""Pictures from which on what all have in common says nothing about two of them."""

_LOW = 8
_WAVES = np.cos(np.pi / SIDE * np.outer(np.arange(_LOW), np.arange(SIDE) + 0.5)).astype(np.float32)
"""The first rows of the cosine transform."""

Greys = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint64]


def small_grey(pixels: npt.NDArray[np.uint8]) -> Greys:
    """Pixels (H, W, 3) as a grey picture (32, 32)."""
    grey = Image.fromarray(pixels).convert("L").resize((SIDE, SIDE), Image.Resampling.BOX)
    return np.asarray(grey)


def perceptual_hashes(greys: Greys) -> Hashes:
    """63 bits for each of (N, 32, 32): which of the slowest waves of a picture are stronger than their median."""
    waves = _WAVES @ greys.astype(np.float32) @ _WAVES.T
    strengths = waves.reshape(len(greys), _LOW * _LOW)[:, 1:]  # the first is how bright it is
    bits = strengths > np.median(strengths, axis=1, keepdims=True)
    places = np.uint64(1) << np.arange(bits.shape[1], dtype=np.uint64)
    found: Hashes = (bits * places).sum(1, dtype=np.uint64)
    return found


def alike(greys: Greys, most_bits: int = MOST_BITS, similar: float = SIMILAR) -> list[list[int]]:
    """Groups of two and more that are nearly the same picture, each in order; a picture is in one group at most.

    Two hashes that differ in at most b bits agree in one of b + 1 bands of bits: only pictures that share a band are
    compared, so that the work hardly grows faster than their number.
    """
    hashes, pictures = perceptual_hashes(greys), _unit(greys)
    group = np.arange(len(greys))
    for bucket in _buckets(hashes, most_bits + 1):
        for place, one in enumerate(bucket[:-1]):
            rest = bucket[place + 1 :]
            rest = rest[group[rest] != group[one]]
            close = rest[_different_bits(hashes[rest], hashes[one]) <= most_bits]
            same = close[pictures[close] @ pictures[one] >= similar]
            if len(same):
                group[np.isin(group, group[same])] = group[one]
    order = np.argsort(group, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    return sorted(members.tolist() for members in groups if len(members) > 1)


def _unit(greys: Greys) -> npt.NDArray[np.float32]:
    """Each picture, 16 x 16, as a vector of mean 0 and length 1, so that a product is a correlation.

    What the pictures have in common is taken out first: things on a white ground are not all one picture.
    """
    blocks = greys.reshape(len(greys), SIDE // 2, 2, SIDE // 2, 2).astype(np.float32)
    flat = blocks.mean((2, 4)).reshape(len(greys), -1)
    flat = _normed(flat - flat.mean(1, keepdims=True))
    return _normed(flat - flat.mean(0)) if len(flat) >= MANY else flat


def _normed(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    lengths = np.sqrt(np.square(rows).sum(1, keepdims=True))
    found: npt.NDArray[np.float32] = np.divide(rows, np.maximum(lengths, 1e-6), dtype=np.float32)
    return found


def _buckets(hashes: Hashes, bands: int) -> Iterator[npt.NDArray[np.int64]]:
    """The places of hashes that agree in a band of bits, band by band."""
    edges = np.linspace(0, _LOW * _LOW - 1, bands + 1).astype(np.uint64)
    for low, high in pairwise(edges):
        keys = (hashes >> low) & ((np.uint64(1) << (high - low)) - np.uint64(1))
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order])) + 1
        yield from (bucket for bucket in np.split(order, starts) if len(bucket) > 1)


def _different_bits(hashes: Hashes, one: np.uint64) -> npt.NDArray[np.int64]:
    differences = (hashes ^ one).view(np.uint8).reshape(-1, 8)
    found: npt.NDArray[np.int64] = np.unpackbits(differences, axis=1).sum(1, dtype=np.int64)
    return found
