"""Randomness that needs no state: every draw has its own seed, derived from the run's seed and its place in the run.

Because a place (phase, step, epoch) always gives the same generator, a resumed run draws what an uninterrupted one
draws.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def seed_for(seed: int, *place: str | int) -> int:
    """A 63-bit seed for one place in a run; the same on every machine."""
    text = "/".join(str(part) for part in (seed, *place))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def generator(seed: int, *place: str | int) -> torch.Generator:
    """A CPU generator for one place in a run."""
    return torch.Generator().manual_seed(seed_for(seed, *place))


@contextmanager
def seeded(seed: int, *place: str | int) -> Iterator[None]:
    """Torch's global CPU generator is seeded inside and put back afterwards (for module initialisers)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for(seed, *place))
        yield
