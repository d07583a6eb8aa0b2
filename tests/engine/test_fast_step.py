"""The fast step of FGP's second phase against a plain slow one; the same step on other devices, as far as shapes go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from classgrow.data.catalogue import DATASETS
from classgrow.data.labelled import ArrayStore, LabelledImages
from classgrow.engine.batches import training_batches
from classgrow.engine.compiled import compiler_found
from classgrow.engine.loop import Training, make_optimiser
from classgrow.engine.runtime import Execution, Runtime
from classgrow.methods import build_method
from classgrow.networks.fused import for_evaluation
from classgrow.networks.network import Network
from classgrow.networks.resnet_cifar import CifarResNet
from classgrow.recipes import recipe_for
from classgrow.seeds import seeded
from classgrow.specs.training import inputs_of
from classgrow.state import frozen_copy
from classgrow.steps import Train
from classgrow.views import BatchView, ClassCounts

IMAGES = 16
FAST, SLOW = Execution(threads=1, compiled=True), Execution(threads=1)


def second_phase(execution: Execution, prepare: Callable[[Network], Network] = lambda teacher: teacher) -> Training:
    """Two old classes and two new ones; a small residual network of the same kinds of layers as ResNet-32."""
    method = build_method("fgp")
    with seeded(5, "network"):
        network = Network(CifarResNet(1, 3, last_relu=False), method.head.build(64))
        network.head.grow(2)
        teacher = prepare(frozen_copy(network))
        network.head.grow(2)
        for parameter in network.parameters():
            parameter.data += 0.05 * torch.randn_like(parameter)  # the student has moved away from its teacher
    recipe = recipe_for("fgp", "cifar")
    draws = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (IMAGES, 32, 32, 3), dtype=torch.uint8, generator=draws)
    return Training(
        network=network, teacher=teacher, data=LabelledImages.from_arrays(pixels, torch.arange(IMAGES) % 4, "abcd"),
        objective=next(step for step in method.steps if isinstance(step, Train)).objective, schedule=recipe.first,
        recipe=replace(recipe, batch_size=IMAGES), inputs=inputs_of(DATASETS["cifar100"], (32, 32, 3)),
        counts=ClassCounts(2, 2), blocks=(2, 2), runtime=Runtime(execution), seed=0, place=("test",),
    )  # fmt: skip


def batch(training: Training) -> tuple[Tensor, Tensor]:
    """The augmented images of an epoch of one batch."""
    (found,) = training_batches(
        training.data, training.inputs, IMAGES, False, torch.Generator().manual_seed(1), training.runtime
    )
    return found


@pytest.mark.skipif(not compiler_found(), reason="compiled steps need a C++ compiler")
def test_the_fast_step_is_the_plain_step() -> None:
    """Compiled student, fused teacher, channels last, our own weight gradients; against eager NCHW, nothing fused, the
    student's loss written out by hand."""
    fast, slow = second_phase(FAST, for_evaluation), second_phase(SLOW)
    fast.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    images, labels = batch(fast)
    plain = images.contiguous()
    fast_loss = fast.loss(images, labels)
    fast_loss.backward()
    assert slow.teacher is not None
    with torch.no_grad():
        teacher = slow.teacher.eval()(plain)
    view = BatchView(labels, slow.network.train()(plain), teacher, slow.counts, slow.blocks)
    slow_loss = sum(weight * total / number for weight, total, number in slow.objective(view))
    assert isinstance(slow_loss, Tensor)
    slow_loss.backward()
    assert abs(float(fast_loss.detach() - slow_loss.detach())) < 1e-5
    for (name, expected), got in zip(slow.network.named_parameters(), fast.network.parameters(), strict=True):
        assert expected.grad is not None and got.grad is not None
        assert torch.allclose(expected.grad, got.grad, atol=1e-5), name
    assert max(float(parameter.grad.abs().max()) for parameter in slow.network.parameters()) > 1e-3  # type: ignore[union-attr]


@pytest.mark.usefixtures("bfloat16")
def test_bfloat16_changes_little_and_stores_nothing() -> None:
    """Student and fused teacher compute in it; losses, weights, gradients and batch-norm statistics are float32."""
    half = replace(SLOW, precision="bfloat16")
    exact = second_phase(SLOW, for_evaluation)
    mixed = second_phase(half, lambda teacher: for_evaluation(teacher, Runtime(half).dtype))
    assert mixed.teacher is not None
    assert {parameter.dtype for parameter in mixed.teacher.backbone.parameters()} == {torch.bfloat16}
    images, labels = batch(exact)
    losses = [training.loss(images, labels) for training in (exact, mixed)]
    for loss in losses:
        loss.backward()
    assert losses[1].dtype == torch.float32
    assert 0 < abs(float((losses[0] - losses[1]).detach())) < 0.02
    assert {parameter.dtype for parameter in mixed.network.parameters()} == {torch.float32}
    assert {parameter.grad.dtype for parameter in mixed.network.parameters() if parameter.grad is not None} == {
        torch.float32
    }
    for (name, expected), got in zip(exact.network.named_buffers(), mixed.network.buffers(), strict=True):
        assert got.dtype == expected.dtype, name
        assert torch.allclose(got, expected, rtol=0.02, atol=0.02), name


@pytest.mark.usefixtures("bfloat16")
def test_batch_norm_sums_up_in_float32() -> None:
    """A mean of 100 would lose its last digits in bfloat16, which has steps of 0.5 there."""
    norm, images = torch.nn.BatchNorm2d(3), 100 + torch.randn(32, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    with Runtime(replace(SLOW, precision="bfloat16")).precision():
        answer = norm(images.bfloat16())
    expected = 0.1 * images.bfloat16().float().mean((0, 2, 3))
    assert answer.dtype == torch.bfloat16 and norm.running_mean is not None
    assert torch.allclose(norm.running_mean, expected, rtol=1e-5)


def test_a_step_fits_together_on_another_device() -> None:
    """The device "meta" has shapes and no values: images that lie there go through augmentation, both networks, loss,
    backward pass and optimiser."""
    training = second_phase(Execution(device="meta", threads=1), for_evaluation)
    for network in (training.network, training.teacher):
        assert network is not None
        network.to("meta")
    store = training.data.store
    assert isinstance(store, ArrayStore)
    resident = replace(training.data, store=ArrayStore(store.images.to("meta")))
    training = replace(training, data=resident)
    images, labels = batch(training)
    assert (images.device.type, images.shape, images.dtype) == ("meta", (IMAGES, 3, 32, 32), torch.float32)
    assert images.is_contiguous(memory_format=torch.channels_last)
    loss = training.loss(images, labels)
    loss.backward()
    assert (loss.device.type, loss.shape, loss.dtype) == ("meta", (), torch.float32)
    assert all(parameter.grad is not None and parameter.grad.is_meta for parameter in training.network.parameters())
    make_optimiser(training.network, training.recipe).step()
