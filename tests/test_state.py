"""What a learner knows, packed and unpacked."""

from __future__ import annotations

import json

import torch

from classgrow.data.labelled import ClassLabel, LabelledImages
from classgrow.memory import HELD_OUT, Budget, Memory
from classgrow.networks.network import Network
from classgrow.networks.small import SmallNet
from classgrow.parts.heads import RectifiedCosineHead
from classgrow.state import State, digest, frozen_copy

CLASSES = (ClassLabel(7, "seven"), ClassLabel(3, "three"), ClassLabel(9, "nine"))
IMAGES = torch.rand(4, 1, 8, 8)


def empty() -> State:
    network = Network(SmallNet(1), RectifiedCosineHead().build(32))
    return State(network, Memory(Budget(total=10)), frozen_copy(network), total_classes=10)


def experienced() -> State:
    """In its second phase: two old classes, one new; rows frozen; something in every place."""
    state = empty()
    state.network.head.grow(2)
    state.network.train()(IMAGES)  # moves the running statistics
    state.classes, state.sizes = CLASSES, (2, 1)
    state.snapshot_teacher()
    state.network.head.grow(1, freeze_old=True)
    state.memory.add(torch.ones(2, 8, 8, 1, dtype=torch.uint8), torch.tensor([0, 1]), torch.zeros(2, dtype=torch.long))
    state.memory.add(torch.zeros(1, 8, 8, 1, dtype=torch.uint8), torch.tensor([1]), torch.tensor([1]), HELD_OUT)
    state.fitted = {"nearest": {"means": torch.rand(2, 32)}, "head": {}}
    state.fitted_to = digest(state.network.backbone)
    state.withheld = torch.tensor([0, 2])
    return state


def test_round_trip() -> None:
    state, other = experienced(), empty()
    tensors, plain = state.pack()
    other.unpack(tensors, json.loads(json.dumps(plain)))
    again, plain_again = other.pack()
    assert plain_again == plain and again.keys() == tensors.keys()
    assert all(torch.equal(again[name], value) for name, value in tensors.items())
    assert (other.classes, other.sizes, other.total_classes, other.phase) == (CLASSES, (2, 1), 10, 2)
    assert other.teacher is not None and state.teacher is not None
    assert not other.teacher.training and not any(p.requires_grad for p in other.teacher.parameters())
    with torch.no_grad():
        assert torch.equal(other.network.eval()(IMAGES).logits, state.network.eval()(IMAGES).logits)
        assert torch.equal(other.teacher(IMAGES).logits, state.teacher(IMAGES).logits)
    learning = [name for name, parameter in state.network.named_parameters() if parameter.requires_grad]
    assert [name for name, parameter in other.network.named_parameters() if parameter.requires_grad] == learning


def test_a_pack_is_a_copy() -> None:
    state = experienced()
    tensors, plain = state.pack()
    kept = {name: value.clone() for name, value in tensors.items()}
    with torch.no_grad():
        for parameter in state.network.parameters():
            parameter.zero_()
    state.memory.clear()
    assert all(torch.equal(tensors[name], value) for name, value in kept.items())
    state.unpack(tensors, plain)
    assert torch.equal(state.network.head.rows(), torch.cat((kept["network.head.frozen"], kept["network.head.weight"])))
    assert len(state.memory) == 3


def test_back_to_nothing() -> None:
    fresh, state = empty(), experienced()
    state.unpack(*fresh.pack())
    assert (state.classes, state.sizes, state.teacher, state.fitted) == ((), (), None, {})
    assert len(state.memory) == 0 and state.memory.images is None and state.network.head.classes == 0


def test_counts() -> None:
    state = experienced()
    assert (state.counts.old, state.counts.new, state.counts.seen, state.counts.total) == (2, 1, 3, 10)
    assert (empty().counts.old, empty().counts.new, empty().phase) == (0, 0, 0)


def test_training_set_is_new_images_without_the_withheld_and_exemplars_without_the_held_out() -> None:
    state = experienced()
    pixels = torch.full((4, 8, 8, 1), 50, dtype=torch.uint8)
    data = LabelledImages.from_arrays(pixels, torch.full((4,), 2), CLASSES)
    training = state.training_set(data)
    assert training.labels.tolist() == [2, 2, 0, 1]
    assert training.read(torch.arange(4))[:, 0, 0, 0].tolist() == [50, 50, 1, 1]
    state.memory.clear()
    state.withheld = state.withheld[:0]
    assert state.training_set(data) is data


def test_the_teacher_does_not_follow_the_student() -> None:
    state = experienced()
    assert state.teacher is not None
    before = {name: value.clone() for name, value in state.teacher.state_dict().items()}
    state.network.train()(IMAGES).logits.sum().backward()
    torch.optim.SGD(state.network.parameters(), lr=1.0).step()
    assert all(torch.equal(value, before[name]) for name, value in state.teacher.state_dict().items())


def test_a_state_saved_by_version_0_1_is_read() -> None:
    state, other = experienced(), empty()
    tensors, plain = state.pack()
    means = tensors.pop("fitted.nearest.means")
    tensors |= {"means.unit": means, "means.raw": 2 * means}
    del plain["rules"], plain["fitted_to"]
    other.unpack(tensors, plain)
    assert list(other.fitted) == ["nearest", "raw_nearest", "head"] and other.fitted_to == ""
    assert torch.equal(other.fitted["nearest"]["means"], means)


def test_a_phase_without_new_classes_counts_as_the_one_before() -> None:
    state = experienced()
    state.sizes = (*state.sizes, 0)
    assert (state.counts.old, state.counts.new, state.blocks, state.phase) == (2, 1, (2, 1), 3)
    assert list(state.arriving) == [] and list(experienced().arriving) == [2]


def test_a_forgotten_class_is_gone_and_the_others_are_as_they_were() -> None:
    state = experienced()
    rows, bias = state.network.head.rows().detach().clone(), state.network.head.bias.detach().clone()
    state.forget(0)
    assert (state.classes, state.sizes, state.teacher) == (CLASSES[1:], (1, 1), None)
    assert torch.equal(state.network.head.rows(), rows[1:]) and torch.equal(state.network.head.bias, bias[1:])
    assert (state.network.head.classes, state.network.head.newest, len(state.network.head.frozen)) == (2, 1, 1)
    assert state.memory.labels.tolist() == [0, 0] and state.memory.roles.tolist() == [0, HELD_OUT]
    state.forget(1)
    assert (state.sizes, state.counts.new, state.network.head.newest) == ((1, 0), 1, 1)


def test_the_digest_changes_with_any_weight_or_statistic() -> None:
    network = SmallNet(1)
    names = {digest(network), digest(network)}
    with torch.no_grad():
        network.conv1.weight[0, 0, 0, 0] += 1e-3
    names.add(digest(network))
    network.bn1.running_mean[0] += 1e-3
    names.add(digest(network))
    assert len(names) == 3
