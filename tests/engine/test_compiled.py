"""When a step is compiled, and that compiling changes nothing but speed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from classgrow.engine import compiled
from classgrow.engine.compiled import CompiledBackbones, compiler_found, decide_compile
from classgrow.engine.loop import Training
from classgrow.engine.runtime import Execution, Runtime
from classgrow.networks.network import Network
from classgrow.networks.small import SmallNet
from classgrow.parts.classification import BinaryCrossEntropy
from classgrow.parts.heads import RectifiedCosineHead
from classgrow.recipes import recipe_for
from classgrow.views import ClassCounts


def test_only_long_runs_of_large_networks_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "compiler_found", lambda: True)
    assert decide_compile("auto", 100_000, 100_000, "cpu") == (True, None)
    assert decide_compile("auto", 100_000, 99_999, "cpu") == (False, None)
    assert decide_compile("auto", None, 10**9, "cpu") == (False, None)
    assert decide_compile("on", None, 1, "cpu") == (True, None)
    assert decide_compile("off", 100_000, 10**9, "cpu") == (False, None)
    assert decide_compile("on", 100_000, 10**9, "mps") == (False, None)


def test_where_it_was_measured_not_to_pay_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "compiler_found", lambda: True)
    asked: list[str] = []

    def saves() -> bool:
        asked.append("saves?")
        return False

    assert decide_compile("auto", 100_000, 100_000, "cpu", saves) == (False, None) and len(asked) == 1
    assert decide_compile("on", 100_000, 100_000, "cpu", saves) == (True, None)
    assert decide_compile("auto", 100_000, 100_000, "cuda", saves) == (True, None)
    assert decide_compile("auto", 100_000, 99_999, "cpu", saves) == (False, None) and len(asked) == 1


def test_without_a_compiler_the_run_is_not_compiled_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "works", lambda name: False)
    decision, problem = decide_compile("on", 100_000, 10**6, "cpu")
    assert not decision
    assert problem is not None and "install g++" in problem


def test_a_compiler_must_work_not_only_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that fails at everything, one that takes everything, and a name nobody has."""
    for name, command in (("broken", "exit 1"), ("fine", "exit 0")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{command}\n")
        (tmp_path / name).chmod(0o755)
    for name, found in (("broken", None), ("fine", str(tmp_path / "fine")), ("absent", None)):
        monkeypatch.setenv("CXX", str(tmp_path / name))
        assert compiled.compiler() == found


def training(network: Network, execution: Execution, batch_size: int) -> Training:
    recipe = recipe_for("fgp", "digits")
    return Training(
        network=network, teacher=None, data=None, objective=BinaryCrossEntropy(), schedule=recipe.first,  # type: ignore[arg-type]
        recipe=replace(recipe, batch_size=batch_size), inputs=None, counts=ClassCounts(0, 2), blocks=(2,),  # type: ignore[arg-type]
        runtime=Runtime(execution), seed=0, place=("test",),
    )  # fmt: skip


def small_network() -> Network:
    torch.manual_seed(3)
    head = RectifiedCosineHead().build(32)
    head.grow(2)
    return Network(SmallNet(1), head).to(memory_format=torch.channels_last).train()  # type: ignore[call-overload]


def test_partial_batches_and_growing_heads_do_not_compile_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def fake_compile(module: nn.Module, **options: object) -> object:
        calls.append("compiled")
        return lambda images: calls.append(f"whole {len(images)}") or module(images)

    monkeypatch.setattr(torch, "compile", fake_compile)
    network = small_network()
    run = training(network, Execution(threads=1, compiled=True), batch_size=4)
    images, labels = torch.randn(4, 1, 8, 8), torch.tensor([0, 1, 0, 1])
    run.loss(images, labels)
    run.loss(images[:3], labels[:3])
    network.head.grow(1)
    replace(run, counts=ClassCounts(2, 1), blocks=(2, 1)).loss(images, labels)
    assert calls == ["compiled", "whole 4", "whole 4"]


def test_each_backbone_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[nn.Module] = []
    monkeypatch.setattr(torch, "compile", lambda module, **options: made.append(module) or module)
    backbones, one, other = CompiledBackbones(), SmallNet(1), SmallNet(1)
    assert backbones(one) is one and backbones(one) is one and backbones(other) is other
    assert made == [one, other]


@pytest.mark.skipif(not compiler_found(), reason="no C++ compiler for torch.compile")
def test_the_compiled_step_has_the_plain_steps_loss_and_gradients() -> None:
    images, labels = torch.randn(8, 1, 8, 8), torch.tensor([0, 1] * 4)
    results = []
    for use in (False, True):
        network = small_network()
        loss = training(network, Execution(threads=1, compiled=use), batch_size=8).loss(images, labels)
        loss.backward()
        results.append((loss.detach(), [parameter.grad for parameter in network.parameters()]))
    (plain_loss, plain), (fast_loss, fast) = results
    assert torch.allclose(plain_loss, fast_loss, atol=1e-5)
    for expected, got in zip(plain, fast, strict=True):
        assert expected is not None and got is not None
        assert torch.allclose(expected, got, atol=1e-5)
