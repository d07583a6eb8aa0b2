"""Images per second delivered to the trainer: plain Pillow in DataLoader workers, our first pass, and the cache.

    python -m benchmarks.reader [--images 768] [--repeats 3]

The JPEGs are 500 x 375, ImageNet's usual size, each a mosaic of 30 real 84-pixel images of mini-ImageNet (drawn noise
where CLASSGROW_DATA does not hold it): real ImageNet photographs are not at hand. "Delivered" means a batch of
normalised floats (N, 3, 224, 224), random-resized crop and mirror done. The first pass includes filling the cache.
Every figure is the best of the repeats, which take turns, so that a busy machine slows all three alike.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from classgrow.data.catalogue import DATASETS
from classgrow.data.decode import decoder_name
from classgrow.data.folder import load_folder
from classgrow.data.labelled import Dataset
from classgrow.data.threads import thread_count
from classgrow.engine.batches import training_batches
from classgrow.engine.runtime import Runtime, decide
from classgrow.inputs import Inputs
from classgrow.specs.training import inputs_of

BATCH = 64
WIDTH, HEIGHT, TILE = 500, 375, 84
IMAGENET = inputs_of(DATASETS["imagenet100"], (256, 256, 3))


def measure(images: int = 768, repeats: int = 3) -> dict[str, Any]:
    """Images per second of the three readers, and the ratios to the plain one."""
    before = os.environ.get("CLASSGROW_CACHE")
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        kilobytes = make_images(root / "data", images)
        readers = {"plain": plain_epoch, "first pass": first_pass, "cache": cached_epoch}
        seconds: dict[str, float] = dict.fromkeys(readers, math.inf)
        for repeat in range(repeats):
            for name, reader in readers.items():
                os.environ["CLASSGROW_CACHE"] = str(root / f"cache{repeat}")
                seconds[name] = min(seconds[name], reader(root / "data"))
    os.environ.pop("CLASSGROW_CACHE")
    if before is not None:
        os.environ["CLASSGROW_CACHE"] = before
    rates = {name: images / best for name, best in seconds.items()}
    return {
        "images": images,
        "kilobytes_per_jpeg": kilobytes,
        "processors": thread_count(),
        "decoder": decoder_name(),
        "load": os.getloadavg()[0],
        "tiles": "mosaics of real 84-pixel images" if real_tiles() else "noise",
        "images_per_second": rates,
        "times_plain": {name: rate / rates["plain"] for name, rate in rates.items()},
    }


def make_images(root: Path, count: int) -> float:
    """`count` train JPEGs in 8 classes and one test image each; returns the mean size in kB."""
    tiles = real_tiles() or [np.random.default_rng(k).integers(0, 256, (TILE, TILE, 3), np.uint8) for k in range(50)]
    draw = np.random.default_rng(1993)
    across, down = -(-WIDTH // TILE), -(-HEIGHT // TILE)
    sizes = []
    for number in range(count + 8):
        rows = [np.concatenate([tiles[k] for k in draw.integers(0, len(tiles), across)], axis=1) for _ in range(down)]
        split = "train" if number < count else "val"
        path = root / split / f"class{number % 8}" / f"{number:05}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.concatenate(rows)[:HEIGHT, :WIDTH]).save(path, quality=90)
        sizes.append(path.stat().st_size)
    return float(np.mean(sizes) / 1000)


def real_tiles() -> list[np.ndarray]:
    """Images of mini-ImageNet, if they are at hand."""
    folder = Path(os.environ.get("CLASSGROW_DATA", "")) / "mini-imagenet" / "train"
    paths = sorted(folder.glob("*/*.jpg"))
    return [np.asarray(Image.open(path).convert("RGB").resize((TILE, TILE))) for path in paths]


class PlainImages(TorchDataset[Tensor]):
    """What a tutorial does for every image: open, random-resized crop, flip, to tensor, normalise."""

    def __init__(self, paths: list[Path], inputs: Inputs) -> None:
        self.paths, self.size = paths, inputs.size
        self.mean = torch.tensor(inputs.mean)[:, None, None]
        self.std = torch.tensor(inputs.std)[:, None, None]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, number: int) -> Tensor:
        image = Image.open(self.paths[number]).convert("RGB")
        left, top, width, height = random_box(image.width, image.height)
        image = image.crop((left, top, left + width, top + height))
        image = image.resize((self.size, self.size), Image.Resampling.BILINEAR)
        if random.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        values = torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous().float().div_(255)
        return values.sub_(self.mean).div_(self.std)


def random_box(width: int, height: int) -> tuple[int, int, int, int]:
    """torchvision's RandomResizedCrop: left, top, width, height."""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        wide, tall = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < wide <= width and 0 < tall <= height:
            return random.randint(0, width - wide), random.randint(0, height - tall), wide, tall
    return 0, 0, width, height


def plain_epoch(folder: Path) -> float:
    """Seconds of an epoch; the workers are running already, one per processor."""
    data = PlainImages(sorted((folder / "train").glob("*/*.jpg")), IMAGENET)
    loader = DataLoader(data, BATCH, shuffle=True, num_workers=thread_count(), persistent_workers=True)
    exhaust(iter([next(iter(loader))]))
    return exhaust(loader)


def first_pass(folder: Path) -> float:
    """Seconds to fill the cache and deliver the first epoch from it."""
    started = time.perf_counter()
    dataset = load_folder(folder)
    exhaust(epoch(dataset))
    return time.perf_counter() - started


def cached_epoch(folder: Path) -> float:
    """Seconds of a later epoch."""
    dataset = load_folder(folder)
    exhaust(epoch(dataset))
    return exhaust(epoch(dataset))


def epoch(dataset: Dataset) -> Iterable[tuple[Tensor, Tensor]]:
    runtime = Runtime(decide("cpu", threads=thread_count()))
    return training_batches(dataset.train, IMAGENET, BATCH, False, torch.Generator().manual_seed(1), runtime)


def exhaust(batches: Iterable[Any]) -> float:
    """Seconds until every batch has arrived."""
    started = time.perf_counter()
    for _ in batches:
        pass
    return time.perf_counter() - started


def table(result: dict[str, Any]) -> str:
    """The measurement in lines."""
    lines = [
        f"{result['images']} JPEGs of {WIDTH} x {HEIGHT} ({result['kilobytes_per_jpeg']:.0f} kB each, "
        f"{result['tiles']}), {result['processors']} processors, {result['decoder']}, load {result['load']:.1f}",
        f"{'reader':<12}{'images/s':>10}{'x plain':>10}",
    ]
    for name, rate in result["images_per_second"].items():
        lines.append(f"{name:<12}{rate:>10.0f}{result['times_plain'][name]:>10.2f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Images per second delivered to the trainer.")
    parser.add_argument("--images", type=int, default=768)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(table(measure(options.images, options.repeats)))


if __name__ == "__main__":
    main()
