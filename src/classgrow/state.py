"""What a learner knows between two images: network, teacher, classes, memory, class means."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from classgrow.data.labelled import ClassLabel, LabelledImages
from classgrow.memory import TRAIN, Memory
from classgrow.networks.network import Network
from classgrow.views import ClassCounts

Tensors = dict[str, Tensor]


@dataclass
class State:
    """The learner owns one; steps change it.

    `sizes`: how many classes each phase added, the current one included; `withheld`: positions among the phase's own
    images that are kept out of training; `blank`: the network before it learned anything; `means`: class means by
    name ("unit", "raw"), empty without a memory.
    """

    network: Network
    memory: Memory
    blank: Network
    total_classes: int | None = None
    teacher: Network | None = None
    classes: tuple[ClassLabel, ...] = ()
    sizes: tuple[int, ...] = ()
    withheld: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.long))
    means: Tensors = field(default_factory=dict)

    @property
    def phase(self) -> int:
        """Phases begun so far."""
        return len(self.sizes)

    @property
    def counts(self) -> ClassCounts:
        """Old and new classes of the current phase."""
        new = self.sizes[-1] if self.sizes else 0
        return ClassCounts(len(self.classes) - new, new, self.total_classes)

    def snapshot_teacher(self) -> None:
        """The network as it is now becomes the frozen teacher."""
        self.teacher = frozen_copy(self.network)

    def training_set(self, data: LabelledImages) -> LabelledImages:
        """The phase's images, without those withheld, and the exemplars of the old classes: each once an epoch."""
        allowed = torch.ones(len(data), dtype=torch.bool)
        allowed[self.withheld] = False
        data = data if bool(allowed.all()) else data.select(torch.nonzero(allowed)[:, 0])
        exemplars = self.memory.view(self.classes, TRAIN)
        return data if exemplars is None else data.joined(exemplars)

    def pack(self) -> tuple[Tensors, dict[str, Any]]:
        """Everything as named tensors and plain values, for checkpoints, bundles and rollbacks."""
        tensors: Tensors = {"withheld": self.withheld}
        tensors |= {f"memory.{name}": value for name, value in self.memory.tensors().items()}
        tensors |= {f"means.{name}": value for name, value in self.means.items()}
        plain: dict[str, Any] = {
            "classes": [[label.id, label.name] for label in self.classes],
            "sizes": list(self.sizes),
            "total_classes": self.total_classes,
        }
        for name, network in (("network", self.network), ("teacher", self.teacher)):
            if network is not None:
                tensors |= {f"{name}.{key}": value for key, value in network.state_dict().items()}
                plain[name] = {"classes": network.head.classes, "newest": network.head.newest}
        return {name: value.detach().cpu().clone().contiguous() for name, value in tensors.items()}, plain

    def unpack(self, tensors: Tensors, plain: dict[str, Any]) -> None:
        """The reverse of `pack`, into a state with the same kind of network."""
        self.classes = tuple(ClassLabel(number, name) for number, name in plain["classes"])
        self.sizes = tuple(plain["sizes"])
        self.total_classes = plain["total_classes"]
        self.withheld = tensors["withheld"]
        self.memory.restore(within(tensors, "memory."))
        device = next(self.network.parameters()).device
        self.means = {name: value.to(device) for name, value in within(tensors, "means.").items()}
        self.teacher = None
        if "teacher" in plain:
            teacher = frozen_copy(self.network)
            restore_network(teacher, within(tensors, "teacher."), plain["teacher"])
            self.teacher = teacher.requires_grad_(False).eval()
        restore_network(self.network, within(tensors, "network."), plain["network"])


def within(tensors: Tensors, prefix: str) -> Tensors:
    """The tensors under a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def frozen_copy(network: Network) -> Network:
    """A copy that cannot learn and uses its running statistics."""
    return copy.deepcopy(network).requires_grad_(False).eval()


def restore_network(network: Network, tensors: Tensors, head: dict[str, int]) -> None:
    """Load a saved network; its head takes the saved number of classes."""
    device = next(network.parameters()).device
    network.head.restore(head["classes"], head["newest"], within(tensors, "head."))
    network.backbone.load_state_dict(within(tensors, "backbone."))
    network.to(device)
