"""The training loop: one student forward, one teacher forward, one step per batch. It knows no method."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from classgrow.data.labelled import LabelledImages
from classgrow.engine.batches import batch_count, training_batches
from classgrow.engine.runtime import Runtime
from classgrow.errors import DivergedError
from classgrow.inputs import Inputs
from classgrow.networks.network import Network
from classgrow.progress import Progress
from classgrow.recipes import Recipe
from classgrow.schedules import Schedule
from classgrow.seeds import generator
from classgrow.views import BatchView, ClassCounts, Outputs

LOOK_EVERY = 50
"""Steps between two checks of the loss: a check waits for the device."""

Objective = Callable[[BatchView], Sequence[tuple[float, Tensor, Tensor | float]]]


@dataclass
class Fit:
    """How far a training has come: what a checkpoint must hold to go on within it."""

    epoch: int = 0
    momentum: dict[str, Tensor] = field(default_factory=dict)
    loss: float = float("nan")
    images: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Training:
    """Everything one training needs; `place` says where in the run it stands, for its seeds and messages."""

    network: Network
    teacher: Network | None
    data: LabelledImages
    objective: Objective
    schedule: Schedule
    recipe: Recipe
    inputs: Inputs
    counts: ClassCounts
    blocks: tuple[int, ...]
    runtime: Runtime
    seed: int
    place: tuple[str | int, ...]

    @property
    def epoch_updates(self) -> int:
        """Updates of the weights in an epoch."""
        return batch_count(len(self.data), self.recipe.batch_size, self.recipe.drop_last)

    def epoch_images(self) -> int:
        """Images an epoch trains on."""
        return min(len(self.data), self.epoch_updates * self.recipe.batch_size)

    def rate(self, epoch: int, step: int) -> float:
        """The learning rate of one update: where it stands in the whole training says everything."""
        return self.schedule.rate_of(epoch * self.epoch_updates + step, self.schedule.epochs * self.epoch_updates)

    def run(self, fit: Fit, progress: Progress, after_epoch: Callable[[Fit], None]) -> None:
        """Train from `fit.epoch` to the end of the schedule."""
        optimiser = make_optimiser(self.network, self.recipe)
        restore_momentum(optimiser, self.network, fit.momentum)
        while fit.epoch < self.schedule.epochs:
            started = time.perf_counter()
            fit.loss = self.epoch(optimiser, fit.epoch, progress)
            fit.seconds += time.perf_counter() - started
            fit.images += self.epoch_images()
            fit.epoch += 1
            fit.momentum = momentum_of(optimiser, self.network)
            after_epoch(fit)
        self.__dict__.pop("_shared", None)  # it knows this training: let go of both

    def epoch(self, optimiser: torch.optim.Optimizer, epoch: int, progress: Progress) -> float:
        """One pass over the data; returns the mean loss."""
        training_mode(self.network)
        draws = generator(self.seed, *self.place, "epoch", epoch)
        batches = training_batches(
            self.data, self.inputs, self.recipe.batch_size, self.recipe.drop_last, draws, self.runtime
        )
        total, steps = torch.zeros((), device=self.runtime.device), 0
        for images, labels in batches:
            size = min(self.recipe.batch_size, len(self.data) - steps * self.recipe.batch_size)
            loss = self.loss(images, labels, stands_in=self.runtime.rank >= size)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            set_rate(optimiser, self.rate(epoch, steps))
            optimiser.step()
            total, steps = total + loss.detach(), steps + 1
            progress.advance(size)
            if steps % LOOK_EVERY == 0:
                self.look(total, epoch, steps)
        return self.look(total + 0 * self.weights_sum(), epoch, steps) / steps

    def loss(self, images: Tensor, labels: Tensor, stands_in: bool = False) -> Tensor:
        """The objective on one batch: every term divided by its count over all processes.

        The mean over processes is the objective on the whole batch, and the mean of their gradients its gradient.
        A process that only stands in (a batch of fewer images than processes) adds nothing.
        """
        teacher: Outputs | None = None
        if self.teacher is not None:
            with torch.no_grad():
                teacher = self.answers(self.teacher, self.teacher.backbone, images)
        view = BatchView(labels, self.student(images), teacher, self.counts, self.blocks)
        loss = torch.zeros((), device=images.device, dtype=view.student.logits.dtype)
        terms = [(weight, total, number) for weight, total, number in self.objective(view)]
        if stands_in:
            terms = [(weight, total * 0, number * 0) for weight, total, number in terms]
        numbers = self.runtime.sums_over_processes([number for _, _, number in terms])
        for (weight, total, _), everywhere in zip(terms, numbers, strict=True):
            if isinstance(everywhere, Tensor):
                everywhere = everywhere.clamp(min=1).to(total.device)  # a mean over no samples is 0
            loss = loss + weight * self.runtime.processes * total / everywhere
        return loss.to(view.student.logits.dtype)

    def student(self, images: Tensor) -> Outputs:
        """The network's outputs; whole batches go through the compiled backbone, a smaller last one does not."""
        if self.runtime.processes > 1:
            shared: Outputs = self._shared(images)
            return shared
        return self.forward(images)

    def forward(self, images: Tensor) -> Outputs:
        share = len(range(self.runtime.rank, self.recipe.batch_size, self.runtime.processes))
        backbone: Callable[[Tensor], Tensor] = self.network.backbone
        if self.runtime.execution.compiled and len(images) == share:
            backbone = self.runtime.compiled(self.network.backbone)
        return self.answers(self.network, backbone, images)

    def answers(self, network: Network, backbone: Callable[[Tensor], Tensor], images: Tensor) -> Outputs:
        """The backbone in the run's precision; the head, and losses after it, never in a lower one."""
        with self.runtime.precision():
            features = backbone(images)
        return network.head(features.to(images.dtype) if self.runtime.execution.is_mixed else features)

    @cached_property
    def _shared(self) -> nn.Module:
        """The network of several processes: their gradients are averaged as they come up.

        Batch norm sees each process's own images. Its running statistics are not sent around in every step, as
        training does not read them: those of the first process count, from the end of the step on.
        """
        self.runtime.group  # noqa: B018 (joins)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # newer versions of torch have another name for buffers
            return DistributedDataParallel(
                Student(self),
                device_ids=[self.runtime.device.index] if self.runtime.device.type == "cuda" else None,
                broadcast_buffers=False,
                gradient_as_bucket_view=True,
                # It is unknown whether every parameter of a user's own module takes part.
                find_unused_parameters=not type(self.network.backbone).__module__.startswith("classgrow."),
            )

    def weights_sum(self) -> Tensor:
        """No number where a weight is none: the last update of an epoch may break what its loss did not show."""
        return torch.stack([one.detach().sum() for one in self.network.parameters() if one.numel()]).sum()

    def look(self, total: Tensor, epoch: int, step: int) -> float:
        """The summed loss as a number; training stops where it is not one."""
        value = float(self.runtime.mean_over_processes(total))
        if value != value or value in (float("inf"), float("-inf")):
            place = " ".join(str(part) for part in self.place)
            raise DivergedError(place, epoch + 1, step, self.rate(epoch, step - 1))
        return value


class Student(nn.Module):
    """A training's forward pass as a module, for those who wrap modules."""

    def __init__(self, training: Training) -> None:
        super().__init__()
        self.network = training.network
        self._forward = training.forward

    def forward(self, images: Tensor) -> Outputs:
        return self._forward(images)


def make_optimiser(network: nn.Module, recipe: Recipe) -> torch.optim.SGD:
    """SGD with momentum over whatever can learn; biases and batch-norm shifts decay only where the recipe says so."""
    decayed: list[nn.Parameter] = []
    spared: list[nn.Parameter] = []
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            (spared if recipe.decay == "weights" and name.endswith("bias") else decayed).append(parameter)
    groups: list[dict[str, Any]] = [{"params": decayed, "weight_decay": recipe.weight_decay}]
    if spared:
        groups.append({"params": spared, "weight_decay": 0.0})
    fused = next(network.parameters()).device.type in ("cpu", "cuda")
    return torch.optim.SGD(groups, lr=0.1, momentum=recipe.momentum, fused=fused)


def training_mode(network: nn.Module) -> None:
    """Ready to learn; a batch norm whose weights do not learn keeps its statistics too."""
    network.train()
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d) and module.affine and not module.weight.requires_grad:
            module.eval()


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """The learning rate of the updates from here on."""
    for group in optimiser.param_groups:
        group["lr"] = rate


def momentum_of(optimiser: torch.optim.Optimizer, network: nn.Module) -> dict[str, Tensor]:
    """The momentum buffers by parameter name."""
    return {
        name: optimiser.state[parameter]["momentum_buffer"]
        for name, parameter in network.named_parameters()
        if optimiser.state.get(parameter, {}).get("momentum_buffer") is not None
    }


def restore_momentum(optimiser: torch.optim.Optimizer, network: nn.Module, momentum: dict[str, Tensor]) -> None:
    """Put saved momentum buffers back."""
    for name, parameter in network.named_parameters():
        if name in momentum:
            buffer = torch.empty_like(parameter).copy_(momentum[name])
            optimiser.state[parameter]["momentum_buffer"] = buffer
