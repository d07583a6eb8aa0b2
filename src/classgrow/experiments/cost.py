"""What many devices would take for many runs: a model with two speeds, that of a device and that of the wire.

A training step of b images on N devices takes b / (N · images/s) to compute and, for a ring all-reduce of float32
gradients, 4 · parameters · 2(N − 1)/N bytes sent by each device over a wire of so many bytes/s. Nothing overlaps in
the model, so it errs on the slow side; choosing exemplars and testing are left out, so it errs on the quick side.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from classgrow.data.catalogue import DATASETS
from classgrow.errors import ClassgrowError
from classgrow.experiments.estimate import training_seconds
from classgrow.experiments.outline import Outline, megaflops
from classgrow.methods import build_method
from classgrow.networks.catalogue import NETWORKS
from classgrow.presets import PRESETS, PresetName
from classgrow.recipes import recipe_for

WIRE = 10.0
"""Gigabytes a second between devices, unless given: PCIe or a fast network."""


@dataclass(frozen=True)
class Machine:
    """Devices of one kind: images a second in a training step with a teacher, and the wire between two of them."""

    images_per_second: Mapping[PresetName, float]
    gigabytes_per_second: float = WIRE


@dataclass(frozen=True)
class Duration:
    """How long runs take, at best, and how many devices each run then has."""

    seconds: float
    devices_each: int


def network_name(run: Outline) -> str:
    return run.network or PRESETS[run.preset].network


def parameters(run: Outline) -> int:
    """Of the run's backbone; a head of 100 classes adds 6,400 (ResNet-32) or 51,200 (ResNet-18)."""
    known = NETWORKS[network_name(run)].parameters
    return known if known is not None else NETWORKS[PRESETS[run.preset].network].parameters or 0


def bytes_per_step(parameters: int, devices: int) -> float:
    """What each device sends in one ring all-reduce of the gradients."""
    return 4 * parameters * 2 * (devices - 1) / devices


def batch_size(run: Outline) -> int:
    return recipe_for(build_method(run.spec.method).recipe, run.preset, run.spec.profile).batch_size


def run_seconds(run: Outline, machine: Machine, devices: int = 1) -> float:
    """The training of one run on so many devices."""
    computing = training_seconds(run, {run.preset: 1 / machine.images_per_second[run.preset]}) / devices
    steps = sum(run.images) / batch_size(run)
    return computing + steps * bytes_per_step(parameters(run), devices) / (machine.gigabytes_per_second * 1e9)


def best_seconds(runs: Sequence[Outline], machine: Machine, devices: int) -> Duration:
    """The quickest way to do all runs: 1, 2, 4, ... devices for each, as many runs side by side as there is room."""
    ways = []
    each = 1
    while each <= devices:
        seconds = [run_seconds(run, machine, each) for run in runs]
        ways.append(Duration(side_by_side(seconds, devices // each), each))
        each *= 2
    return min(ways, key=lambda way: way.seconds)


def side_by_side(seconds: Iterable[float], places: int) -> float:
    """When the last of these is done: the longest first, each where there is room first."""
    longest_first = sorted(seconds, reverse=True)
    busy = [0.0] * max(1, min(places, len(longest_first)))
    for one in longest_first:
        heapq.heapreplace(busy, busy[0] + one)
    return max(busy)


def cache_bytes(dataset: str) -> int | None:
    """About what the images of a data set take, once for all runs; None if unknown."""
    facts = DATASETS.get(dataset)
    return facts.stored_bytes if facts else None


def read_speeds(text: str) -> dict[PresetName, float]:
    """ "2000" (CIFAR; others in proportion to their multiplications) or "cifar=2000,imagenet=300"."""
    given: dict[str, float] = {}
    for word in text.split(","):
        name, _, value = word.rpartition("=")
        try:
            speed = float(value)
        except ValueError:
            speed = 0.0
        preset = name.strip() or "cifar"
        given[preset] = speed if preset not in given else 0.0  # said twice: which of them is meant?
    if not given or not given.keys() <= PRESETS.keys() or not all(1e-3 <= value <= 1e9 for value in given.values()):
        raise ClassgrowError(
            f"`images_per_second` = {text!r} cannot be read: give 2000 (CIFAR), or cifar=2000,imagenet=300."
        )
    order: tuple[PresetName, ...] = ("cifar", "imagenet", "digits")
    known = next(preset for preset in order if preset in given)
    work = given[known] * megaflops(known)
    return {preset: given.get(preset, work / megaflops(preset)) for preset in PRESETS}
