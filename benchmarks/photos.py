"""(j) A person's photos from folder to answer: seconds from the shell, and torch's plain loop on the same photos."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from classgrow.data.place import needed_folder
from classgrow.networks.catalogue import NETWORKS, PRETRAINED, build_backbone
from classgrow.networks.pretrained import load_pretrained

SIDE = (1200, 900)
"""Width and height of the photos, which are mini-ImageNet's 84-pixel images enlarged: real ones are not at hand."""


def measure(classes: int = 10, each: int = 20) -> dict[str, Any]:
    """Learning `classes` classes of `each` photos, adding one more, and predicting one photo, each in a process.

    `times eager`: how many times as long torch's plain eager loop takes for the features of the photos learned.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        names = photo_folders(root, classes + 1, each)
        first, last = root / "first", root / "last"
        for name in names[:-1]:
            shutil.move(root / name, first / name)
        shutil.move(root / names[-1], last / names[-1])
        photo = next((last / names[-1]).iterdir())
        model = str(root / "model")
        commands = {
            f"learn {classes * each} photos of {classes} classes": ["learn", model, str(first)],
            f"add a class of {each}": ["learn", model, str(last)],
            "predict one photo": ["predict", model, str(photo)],
        }
        rows = [{"command": what, "seconds": seconds_of(words)} for what, words in commands.items()]
        rows[2]["seconds"] = min(seconds_of(commands["predict one photo"]) for _ in range(3))
        eager = eager_seconds(first)
    return {"rows": rows, "eager loop, seconds": eager, "times eager": eager / float(str(rows[0]["seconds"]))}


def photo_folders(root: Path, classes: int, each: int) -> list[str]:
    """Folders of JPEG photos made of mini-ImageNet's; where a class has fewer, they are mirrored too."""
    (root / "first").mkdir()
    (root / "last").mkdir()
    source = needed_folder(None, "mini-ImageNet", "mini-imagenet") / "mini-imagenet" / "train"
    names = sorted(path.name for path in source.iterdir())[:classes]
    for name in names:
        (root / name).mkdir()
        files = sorted((source / name).iterdir())
        for number in range(each):
            image = Image.open(files[number % len(files)]).convert("RGB").resize(SIDE, Image.Resampling.BICUBIC)
            if number >= len(files):
                image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
            image.save(root / name / f"{number}.jpg", quality=90)
    return names


def seconds_of(words: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "classgrow", *words], check=True, capture_output=True)
    return time.perf_counter() - started


@torch.inference_mode()
def eager_seconds(folder: Path) -> float:
    """Features of the photos as torch computes them without any preparation: decoding, resizing, batches of 32."""
    facts = NETWORKS[PRETRAINED]
    assert facts.pretrained is not None
    backbone = build_backbone(PRETRAINED, 3, True).eval()
    load_pretrained(backbone, facts)
    side = facts.pretrained.size
    started = time.perf_counter()
    for batch in batches(sorted(folder.rglob("*.jpg")), side):
        backbone(batch)
    return time.perf_counter() - started


def batches(files: list[Path], side: int) -> list[torch.Tensor]:
    """Normalised images (32, 3, side, side)."""
    found = []
    for start in range(0, len(files), 32):
        images = [Image.open(file).convert("RGB").resize((side, side)) for file in files[start : start + 32]]
        pixels = [torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8) for image in images]
        stacked = torch.stack(pixels).view(-1, side, side, 3).permute(0, 3, 1, 2).float()
        found.append((stacked - 127) / 128)
    return found
