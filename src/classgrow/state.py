"""What a learner knows between two images: network, teacher, classes, memory, and what its rules have fitted."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NotRequired, TypedDict

import torch
from torch import Tensor, nn

from classgrow.data.labelled import ClassLabel, LabelledImages
from classgrow.memory import TRAIN, Memory
from classgrow.networks.network import Network
from classgrow.views import ClassCounts

Tensors = dict[str, Tensor]


class SavedHead(TypedDict):
    """How many classes a head has, and how many of them came last."""

    classes: int
    newest: int


class SavedState(TypedDict):
    """The plain values of a state, ready for JSON. `classes` holds [id, name]; version 0.1 wrote no `rules`."""

    classes: list[list[int | str]]
    sizes: list[int]
    total_classes: int | None
    rules: NotRequired[list[str]]
    fitted_to: NotRequired[str]
    network: SavedHead
    teacher: NotRequired[SavedHead]


@dataclass
class State:
    """The learner owns one; steps change it.

    `sizes`: how many classes each phase added, the current one included (0: more images of known classes);
    `withheld`: positions among the phase's own images that are kept out of training; `blank`: the network before it
    learned anything; `fitted`: the tensors of every rule that could be fitted, by its name; `fitted_to`: the digest of
    the backbone that they and the features in memory belong to; `estimated`: what was estimated from the exemplars
    since (temperatures, a threshold for the unknown), empty until somebody asks.
    """

    network: Network
    memory: Memory
    blank: Network
    total_classes: int | None = None
    teacher: Network | None = None
    classes: tuple[ClassLabel, ...] = ()
    sizes: tuple[int, ...] = ()
    withheld: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.long))
    fitted: dict[str, Tensors] = field(default_factory=dict)
    fitted_to: str = ""
    estimated: Tensors = field(default_factory=dict)

    @property
    def phase(self) -> int:
        """Phases started so far."""
        return len(self.sizes)

    @property
    def blocks(self) -> tuple[int, ...]:
        """Sizes of the phases that added classes: their sum is the number of classes."""
        return tuple(size for size in self.sizes if size)

    @property
    def arriving(self) -> range:
        """The classes that the current phase adds."""
        new = self.sizes[-1] if self.sizes else 0
        return range(len(self.classes) - new, len(self.classes))

    @property
    def counts(self) -> ClassCounts:
        """Old and new classes. New are those that came last: in a phase without new classes, those of an earlier one,
        so that every weight and every loss means what it meant then."""
        new = self.blocks[-1] if self.blocks else 0
        return ClassCounts(len(self.classes) - new, new, self.total_classes)

    def snapshot_teacher(self) -> None:
        """The network as it is now becomes the frozen teacher."""
        self.teacher = frozen_copy(self.network)

    @property
    def stands_still(self) -> bool:
        """Whether the backbone is the one that the rules' tensors and the features in memory belong to."""
        return digest(self.network.backbone) == self.fitted_to

    def forget(self, position: int) -> None:
        """Take a class out of classes, head and memory; the rules' tensors are theirs to change. No teacher is left."""
        ends = list(accumulate(self.sizes))
        owner = next(phase for phase, end in enumerate(ends) if position < end)
        self.sizes = tuple(size - (phase == owner) for phase, size in enumerate(self.sizes))
        self.classes = self.classes[:position] + self.classes[position + 1 :]
        self.network.head.forget(position, newest=self.counts.new)
        self.memory.forget(position)
        self.teacher, self.estimated = None, {}

    def training_set(self, data: LabelledImages) -> LabelledImages:
        """The phase's images, without those withheld, and the exemplars of the old classes: each once an epoch."""
        allowed = torch.ones(len(data), dtype=torch.bool)
        allowed[self.withheld] = False
        data = data if bool(allowed.all()) else data.select(torch.nonzero(allowed)[:, 0])
        exemplars = self.memory.view(self.classes, TRAIN)
        return data if exemplars is None else data.joined(exemplars)

    def pack(self) -> tuple[Tensors, SavedState]:
        """Everything as named tensors and plain values, for checkpoints, bundles and rollbacks."""
        tensors: Tensors = {"withheld": self.withheld}
        tensors |= {f"memory.{name}": value for name, value in self.memory.tensors().items()}
        for rule, fitted in self.fitted.items():
            tensors |= {f"fitted.{rule}.{name}": value for name, value in fitted.items()}
        tensors |= {f"estimated.{name}": value for name, value in self.estimated.items()}
        plain: SavedState = {
            "classes": [[label.id, label.name] for label in self.classes],
            "sizes": list(self.sizes),
            "total_classes": self.total_classes,
            "rules": list(self.fitted),
            "fitted_to": self.fitted_to,
            "network": saved_head(self.network),
        }
        tensors |= {f"network.{key}": value for key, value in self.network.state_dict().items()}
        if self.teacher is not None:
            plain["teacher"] = saved_head(self.teacher)
            tensors |= {f"teacher.{key}": value for key, value in self.teacher.state_dict().items()}
        return {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}, plain

    def unpack(self, tensors: Tensors, plain: SavedState) -> None:
        """The reverse of `pack`, into a state with the same kind of network."""
        self.classes = tuple(ClassLabel(int(number), str(name)) for number, name in plain["classes"])
        self.sizes = tuple(plain["sizes"])
        self.total_classes = plain["total_classes"]
        self.withheld = tensors["withheld"]
        self.memory.restore(within(tensors, "memory."))
        self.fitted_to = plain.get("fitted_to", "")
        self.fitted = {rule: within(tensors, f"fitted.{rule}.") for rule in plain.get("rules", ())}
        self.estimated = within(tensors, "estimated.")
        if "rules" not in plain:
            self.fitted = fitted_before_0_2(tensors)
        self.teacher = None
        if "teacher" in plain:
            teacher = frozen_copy(self.network)
            restore_network(teacher, within(tensors, "teacher."), plain["teacher"])
            self.teacher = teacher.requires_grad_(False).eval()
        restore_network(self.network, within(tensors, "network."), plain["network"])


def fitted_before_0_2(tensors: Tensors) -> dict[str, Tensors]:
    """What version 0.1 saved as means; nothing in a state that has learned nothing yet."""
    names = {"unit": "nearest", "raw": "raw_nearest"}
    means = {names[name]: {"means": value} for name, value in within(tensors, "means.").items()}
    return {**means, "head": {}} if len(tensors["network.head.weight"]) or means else {}


def digest(module: nn.Module) -> str:
    """A name for the weights and statistics of a module: it changes where one of them does."""
    total = hashlib.blake2b(digest_size=16)
    for name, value in module.state_dict().items():
        total.update(name.encode())
        total.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def within(tensors: Tensors, prefix: str) -> Tensors:
    """The tensors under a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def frozen_copy(network: Network) -> Network:
    """A copy that cannot learn and uses its running statistics."""
    return copy.deepcopy(network).requires_grad_(False).eval()


def saved_head(network: Network) -> SavedHead:
    """What a network's head needs to be restored, besides its tensors."""
    return {"classes": network.head.classes, "newest": network.head.newest}


def restore_network(network: Network, tensors: Tensors, head: SavedHead) -> None:
    """Load a saved network; its head takes the saved number of classes."""
    device = next(network.parameters()).device
    network.head.restore(head["classes"], head["newest"], within(tensors, "head."))
    network.backbone.load_state_dict(within(tensors, "backbone."))
    network.to(device)
