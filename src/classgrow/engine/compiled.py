"""When a compiled training step repays its warm-up, and the step itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

Compile = Literal["auto", "on", "off"]


def compiler() -> str | None:
    """The C++ compiler that PyTorch builds CPU code with, if it is there and works."""
    name = os.environ.get("CXX") or ("clang++" if sys.platform == "darwin" else "g++")
    return name if works(name) else None


@cache
def works(compiler: str) -> bool:
    """Whether a small program gets past it."""
    words = [compiler, "-x", "c++", "-fsyntax-only", "-"]
    program = b"#include <vector>\nint main() { return 0; }\n"
    try:
        return subprocess.run(words, input=program, capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


def compiler_found() -> bool:
    return compiler() is not None


def decide_compile(
    wish: Compile,
    repaid_after: int | None,
    planned_images: int,
    device: str,
    saves: Callable[[], bool] = lambda: True,
) -> tuple[bool, str | None]:
    """Whether to compile, and one line to tell where a wish cannot be met. Decided once per run and stored.

    `repaid_after`: training images from which compiling may pay (half a minute or so of warm-up, twice); None: never.
    `saves` is asked on a processor then: whether it does pay there.
    """
    may_pay = repaid_after is not None and planned_images >= repaid_after
    wanted = wish == "on" or (wish == "auto" and may_pay)
    if wanted and device == "cpu" and not compiler_found():
        return False, "No working C++ compiler was found, so the run is not compiled; install g++ to make it faster."
    if wanted and wish == "auto" and device == "cpu":
        return saves(), None
    return wanted and device != "mps", None


class CompiledBackbones:
    """Compiled forms of backbones, made on first use and kept: a growing head or a new phase compiles nothing again."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[nn.Module, Callable[[Tensor], Tensor]]] = {}

    def __call__(self, backbone: nn.Module) -> Callable[[Tensor], Tensor]:
        if id(backbone) not in self._known:
            backend = backend_for(next(backbone.parameters()).device.type)
            self._known[id(backbone)] = backbone, torch.compile(backbone, dynamic=False, backend=backend)
        return self._known[id(backbone)][1]


@cache
def backend_for(device: str) -> Callable[..., Any]:
    """The compiler: with CUDA graphs there, with our own weight gradients here.

    One for all backbones of a process: weights are inputs of what is compiled, so that the next backbone of the same
    shape finds it made.
    """
    from torch._inductor.compile_fx import compile_fx  # takes seconds to load

    from classgrow.engine.weight_gradient import OwnWeightGradients, kernel

    options: dict[str, Any] = {}
    if device == "cuda":
        options = {"triton.cudagraphs": True}
    elif kernel():
        options = {"post_grad_custom_post_pass": OwnWeightGradients()}
    return partial(compile_fx, config_patches=options)
