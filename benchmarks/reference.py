"""The loop that common implementations run: what ours is measured against. Plain on purpose.

Per-image Pillow augmentation in a DataLoader worker, NCHW, eager, batch norm unfolded in the teacher, and, for FGP,
the student forwarded twice per batch (once for logits, once for features).
"""

from __future__ import annotations

import copy
import random

import numpy as np
import torch
from PIL import Image, ImageEnhance, ImageOps
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from classgrow.networks.resnet_cifar import resnet32

MEAN, STD = np.array([0.5071, 0.4867, 0.4408]), np.array([0.2675, 0.2565, 0.2761])
OLD, SEEN = 10, 20


class PlainImages(Dataset[tuple[Tensor, int]]):
    """One image at a time: pad, crop, mirror and brighten by chance, or only mirror; normalise."""

    def __init__(self, pixels: np.ndarray, labels: np.ndarray, augment: bool = True, mirror: bool = False) -> None:
        self.pixels, self.labels, self.augment, self.mirror = pixels, labels, augment, mirror

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, place: int) -> tuple[Tensor, int]:
        image = Image.fromarray(self.pixels[place])
        if self.augment:
            left, top = random.randint(0, 8), random.randint(0, 8)
            image = ImageOps.expand(image, border=4, fill=0).crop((left, top, left + 32, top + 32))
            image = ImageEnhance.Brightness(image).enhance(random.uniform(1 - 63 / 255, 1 + 63 / 255))
        if self.mirror or (self.augment and random.random() < 0.5):
            image = ImageOps.mirror(image)
        values = (np.asarray(image, np.float32) / 255 - MEAN) / STD
        return torch.from_numpy(values.transpose(2, 0, 1).astype(np.float32)), int(self.labels[place])


class ReferenceLoop:
    """`forwards` = 2: FGP as released; 1: a distillation method that forwards once (iCaRL's loss), or without a
    `teacher` one that learns from labels alone."""

    def __init__(self, images: int, forwards: int, teacher: bool = True) -> None:
        draw = np.random.default_rng(0)
        pixels = draw.integers(0, 256, (images, 32, 32, 3), dtype=np.uint8)
        self.data = PlainImages(pixels, draw.integers(0, SEEN, images))
        self.forwards, self.teacher = forwards, teacher
        self.backbone, self.head = resnet32(), nn.Linear(64, SEEN)
        self.old_backbone = copy.deepcopy(self.backbone).eval().requires_grad_(False)
        self.old_head = copy.deepcopy(self.head).requires_grad_(False)
        parameters = [*self.backbone.parameters(), *self.head.parameters()]
        self.optimiser = torch.optim.SGD(parameters, lr=0.001, momentum=0.9, weight_decay=1e-5)

    def epoch(self) -> None:
        self.backbone.train()
        for images, labels in DataLoader(self.data, batch_size=128, shuffle=True, num_workers=1):
            loss = self.loss(images, labels)
            if not bool(torch.isfinite(loss)):
                raise ArithmeticError("the loss is not finite")
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()

    def loss(self, images: Tensor, labels: Tensor) -> Tensor:
        logits = self.head(self.backbone(images))
        targets = functional.one_hot(labels, SEEN).float()
        if not self.teacher:
            return functional.binary_cross_entropy_with_logits(logits, targets)
        with torch.no_grad():
            old_features = self.old_backbone(images)
            old_logits = self.old_head(old_features)
        if self.forwards == 1:
            targets[:, :OLD] = old_logits[:, :OLD].sigmoid()
            return functional.binary_cross_entropy_with_logits(logits, targets)
        features = self.backbone(images)
        now, then = distances(features, self.head), distances(old_features, self.old_head)
        graph = (torch.exp(-then / 2) * (now - then).square()).sum(1).mean()
        return functional.binary_cross_entropy_with_logits(logits, targets) + 0.07 * graph


def distances(features: Tensor, head: nn.Linear) -> Tensor:
    unit = functional.normalize(features)
    return 2 - 2 * unit @ functional.normalize(head.weight[:OLD]).T
