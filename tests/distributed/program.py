"""What the processes of these tests do. `python program.py NAME FOLDER` does it, alone or as one of several."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from classgrow.data.labelled import LabelledImages
from classgrow.engine.inference import features
from classgrow.engine.loop import Training, make_optimiser
from classgrow.engine.place import here
from classgrow.engine.runtime import Execution, Runtime
from classgrow.errors import ClassgrowError
from classgrow.inputs import Inputs
from classgrow.learner import Learner
from classgrow.methods import build_method
from classgrow.methods.catalogue import METHODS
from classgrow.networks.network import Network
from classgrow.progress import Silent
from classgrow.recipes import recipe_for
from classgrow.seeds import seeded
from classgrow.state import frozen_copy
from classgrow.steps import OptimiseExemplars, Train
from classgrow.views import ClassCounts

EXECUTION = Execution(threads=1, processes=here().processes)
OBJECTIVES = ("fgp", "icarl", "lucir", "eeil", "bic", "fgp-dist-kl")
INPUTS = Inputs(8, 1, (0.3,), (0.4,), padding=1, mirror=True, brightness=0.2)


class Plain(nn.Module):
    """No batch statistics, in float64; one part takes no part, as in networks of users."""

    features = 6

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(1, 4, 3, stride=2)
        self.linear = nn.Linear(36, self.features)
        self.unused = nn.Linear(2, 2)

    def forward(self, images: Tensor) -> Tensor:
        return torch.tanh(self.linear(torch.relu(self.convolution(images.double())).flatten(1)))


class Shares(nn.BatchNorm2d):
    """Batch norm of two processes, also in one: it sees every second image, and the first share's running values count.

    In one process the shares are taken apart here; in two they arrive apart.
    """

    def forward(self, images: Tensor) -> Tensor:
        if here().processes > 1 or not self.training:
            return super().forward(images)
        out = torch.empty_like(images)
        out[0::2] = super().forward(images[0::2])
        if len(images) > 1:
            out[1::2] = nn.functional.batch_norm(images[1::2], None, None, self.weight, self.bias, True, 0.0, self.eps)
        return out


class Normed(Plain):
    """The same with batch statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = Shares(4)

    def forward(self, images: Tensor) -> Tensor:
        hidden = self.norm(self.convolution(images.double()))
        return torch.tanh(self.linear(torch.relu(hidden).flatten(1)))


def pictures(classes: range, count: int) -> LabelledImages:
    """8 x 8 pixels in grey: each class a pattern of its own under noise."""
    images = []
    for one in classes:
        generator = torch.Generator().manual_seed(one)
        pattern = torch.randint(0, 200, (1, 8, 8, 1), generator=generator)
        images.append(pattern + torch.randint(0, 56, (count, 8, 8, 1), generator=generator))
    labels = torch.tensor([one for one in classes for _ in range(count)])
    return LabelledImages.from_arrays(torch.cat(images).to(torch.uint8), labels)


def twenty_steps(name: str, backbone: type[Plain] = Plain) -> dict[str, Tensor]:
    """The second phase of a method: weights, momentum and last gradients after 20 steps on batches of 7, 7, 7, 7, 1.

    Old classes have few images, so that some shares of a batch have anchors of Hou19's margin and others none.
    """
    method = build_method(name)
    with seeded(1, "network"):
        network = Network(backbone(), method.head.build(Plain.features)).double()
        if network.head.reserves:
            network.head.reserve(6)
        network.head.grow(3)
        teacher = frozen_copy(network)
        for parameter in teacher.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        network.head.grow(2, freeze_old=name == "lucir")
    network.double()
    old, new = pictures(range(3), 3), pictures(range(5), 10).of([3, 4])
    recipe = replace(recipe_for(method.recipe, "digits"), batch_size=7, drop_last=False)
    training = Training(
        network=network,
        teacher=teacher,
        data=new.joined(old),
        objective=next(step for step in method.steps if isinstance(step, Train)).objective,
        schedule=recipe.later,
        recipe=recipe,
        inputs=INPUTS,
        counts=ClassCounts(3, 2, 6),
        blocks=(3, 2),
        runtime=Runtime(EXECUTION),
        seed=1,
        place=("phase", 2),
    )
    optimiser = make_optimiser(network, recipe)
    losses = [training.epoch(optimiser, epoch, Silent()) for epoch in range(4)]
    values = {name: value.detach().clone() for name, value in network.state_dict().items()}
    slopes = {f"grad {name}": one.grad.clone() for name, one in network.named_parameters() if one.grad is not None}
    return {**values, **slopes, "losses": torch.tensor(losses, dtype=torch.float64)}


def gradients(folder: Path) -> None:
    found = {name: twenty_steps(name) for name in OBJECTIVES}
    found["batch norm"] = twenty_steps("fgp", Normed)
    torch.save(found, folder / f"gradients{here().rank}of{here().processes}.pt")


def quick(name: str) -> Any:
    if name == "mnemonics":
        return build_method(name, optimise=OptimiseExemplars(outer_epochs=1, inner_steps=1, batch_size=8))
    return build_method(name)


def digest(tensors: dict[str, Tensor]) -> str:
    total = hashlib.blake2b(digest_size=8)
    for name in sorted(tensors):
        total.update(name.encode() + tensors[name].contiguous().numpy().tobytes())
    return total.hexdigest()


def one_method(name: str) -> dict[str, Any]:
    """Two phases; what this process then knows, in digests, and how it answers on 31 images (no multiple of 2)."""
    learner = Learner(quick(name), 10, execution=EXECUTION, epochs=1)
    for classes in (range(2), range(2, 4)):
        everything = pictures(range(4), 9)
        learner.learn_phase(everything.of(list(classes)))
    state = learner.state
    test = pictures(range(4), 8).select(torch.arange(31))
    found = learner.predictions(test)
    tensors, plain = state.pack()
    return {
        "kept": len(state.memory),
        "memory": digest(state.memory.tensors()),
        "state": digest(tensors),
        "plain": plain,
        "means": sorted(set(state.fitted) - {"head"}),
        "answers": {rule: predicted.tolist() for rule, predicted in found.items()},
    }


def methods(folder: Path) -> None:
    found = {name: one_method(name) for name in METHODS}
    (folder / f"methods{here().rank}.json").write_text(json.dumps(found))


def exchange(folder: Path) -> None:
    """What processes tell each other, with every rank's own view of it."""
    runtime = Runtime(EXECUTION)
    group, rank = runtime.group, here().rank
    mine = {
        "same": torch.arange(5.0),
        "other": torch.full((2, 3), float(rank)),
        "flags": torch.tensor([rank == 0, True]),
        "longer": torch.arange(3 + rank),
        "nothing": torch.empty(0, 4),
        "scalar": torch.tensor(rank, dtype=torch.int64),
    }
    if rank:
        mine["only here"] = torch.ones(1)
    tensors, plain, different = group.same(mine, {"rank": rank})
    with seeded(1, "network"):
        network = Network(Plain(), build_method("finetune").head.build(Plain.features)).double()
        network.head.grow(2)
    gathered = {
        str(count): features(network, pictures(range(1), 9).select(torch.arange(count)), INPUTS, runtime).tolist()
        for count in (1, 2, 5, 9)
    }

    def refuse() -> None:
        raise ClassgrowError("There is no such thing: choose another.")

    try:
        group.decided(refuse)
    except ClassgrowError as error:
        refused = [type(error).__name__, str(error)]
    group.agreed("the same", "other settings")
    try:
        group.agreed(f"run {rank}", "other settings")
    except ClassgrowError as error:
        disagreed = [type(error).__name__, str(error)]
    found = {
        "disagreed": disagreed,
        "tensors": {name: value.tolist() for name, value in tensors.items()},
        "plain": plain,
        "different": different,
        "features": gathered,
        "refused": refused,
        "decided": group.decided(lambda: f"by {rank}"),
        "prepared": group.prepared(lambda: rank),
        "sums": [float(value) for value in runtime.sums_over_processes([1.0 + rank, torch.tensor(3)])],
    }
    (folder / f"exchange{rank}.json").write_text(json.dumps(found))


def stuck(folder: Path) -> None:
    """The last process falls silent; the others must notice."""
    from classgrow.engine.group import reporting_lost_processes

    runtime = Runtime(EXECUTION)
    runtime.group.finish()
    print("met", flush=True)
    if here().rank:
        time.sleep(3600)
    with reporting_lost_processes(runtime.processes):
        runtime.group.finish()


def prepare_and_stop(which: int) -> None:
    """Every process prepares for longer than the timeout, and is waited for; one of them then stands still."""
    group = Runtime(EXECUTION).group

    def prepare() -> None:
        time.sleep(4)
        if here().rank == which:
            print("stopping", flush=True)
            os.kill(os.getpid(), signal.SIGSTOP)

    group.prepared(prepare)


def first_stops(folder: Path) -> None:
    prepare_and_stop(0)


def last_stops(folder: Path) -> None:
    prepare_and_stop(1)


if __name__ == "__main__":
    for name in sys.argv[1].split(","):
        globals()[name](Path(sys.argv[2]))
