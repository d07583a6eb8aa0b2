"""Weight gradients of 3x3 convolutions by a kernel of our own, inside compiled training steps on AVX2 processors.

The kernel (weight_gradient.cpp) is built once with the C++ compiler that compiled steps need anyway; where it cannot be
built, or another processor is at work, PyTorch's own gradients are used.
"""

from __future__ import annotations

import ctypes
import hashlib
import platform
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pooch
import torch
from torch import Tensor
from torch._inductor.custom_graph_pass import CustomGraphPass
from torch.fx import Graph, Node

from classgrow.disk import make_private, write_atomically
from classgrow.engine.compiled import compiler

SOURCE = Path(__file__).with_suffix(".cpp")
FLAGS = ("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC")


def build(folder: Path) -> Path:
    """The kernel as a library in `folder`; its name tells source, compiler and machine apart."""
    source, tool = SOURCE.read_bytes(), compiler()
    if tool is None:
        raise FileNotFoundError("there is no C++ compiler")
    mark = hashlib.sha256(source + f"{tool} {FLAGS} {platform.node()} {platform.machine()}".encode()).hexdigest()
    library = folder / f"weight_gradient-{mark[:16]}.so"
    make_private(folder)
    if not is_as_built(library):
        with tempfile.TemporaryDirectory(dir=folder) as room:
            made = Path(room) / library.name
            subprocess.run([tool, *FLAGS, str(SOURCE), "-o", str(made)], check=True, capture_output=True)
            write_atomically(digest_file(library), hashlib.sha256(made.read_bytes()).hexdigest().encode())
            made.replace(library)
    return library


def is_as_built(library: Path) -> bool:
    """Whether the library is there, and is the one that was built: no other code is ever loaded."""
    try:
        built = digest_file(library).read_text(encoding="ascii")
        return hashlib.sha256(library.read_bytes()).hexdigest() == built
    except (OSError, ValueError):
        return False


def digest_file(library: Path) -> Path:
    return library.with_suffix(".sha256")


@cache
def kernel() -> ctypes._NamedFuncPointer | None:
    """The built kernel; None where it is of no use or cannot be had."""
    if torch.backends.cpu.get_cpu_capability() != "AVX2":
        return None
    try:
        found = ctypes.CDLL(str(build(Path(pooch.os_cache("classgrow")) / "kernels"))).weight_gradient
    except (OSError, subprocess.CalledProcessError):
        return None
    found.argtypes = (ctypes.c_void_p,) * 3 + (ctypes.c_int,) * 5
    found.restype = None
    return found


@torch.library.custom_op("classgrow::weight_gradient", mutates_args=())
def weight_gradient(gradient: Tensor, images: Tensor) -> Tensor:
    """(outside, inside, 3, 3), channels last, from the gradient of the output and the input of a convolution."""
    gradient = gradient.contiguous(memory_format=torch.channels_last)
    images = images.contiguous(memory_format=torch.channels_last)
    count, inside, height, width = images.shape
    weights = torch.empty((gradient.shape[1], inside, 3, 3), dtype=images.dtype, memory_format=torch.channels_last)
    run = kernel()
    assert run is not None
    run(
        images.data_ptr(), gradient.data_ptr(), weights.data_ptr(),
        count, height, width, inside, gradient.shape[1],
    )  # fmt: skip
    return weights


@weight_gradient.register_fake
def _(gradient: Tensor, images: Tensor) -> Tensor:
    shape = (gradient.shape[1], images.shape[1], 3, 3)
    return images.new_empty(shape).contiguous(memory_format=torch.channels_last)


class OwnWeightGradients(CustomGraphPass):
    """Lets the kernel take over in a compiled graph, wherever it can."""

    def __call__(self, graph: Graph) -> None:
        for node in graph.find_nodes(op="call_function", target=torch.ops.aten.convolution_backward.default):
            if fits(node):
                take_over(graph, node)

    def uuid(self) -> str:
        return hashlib.sha256(SOURCE.read_bytes()).hexdigest()


def fits(node: Node) -> bool:
    """Whether a convolution's backward pass is of the kind the kernel knows."""
    gradient, images, weights = (part.meta["val"] for part in node.args[:3] if isinstance(part, Node))
    rest = (list(part) if isinstance(part, Sequence) else part for part in node.args[4:])
    stride, padding, dilation, transposed, _, groups, wanted = rest
    return (
        (stride, padding, dilation, transposed, groups) == ([1, 1], [1, 1], [1, 1], False, 1)
        and isinstance(wanted, list)
        and wanted[1:] == [True, False]
        and tuple(weights.shape[2:]) == (3, 3)
        and weights.shape[0] % 16 == 0
        and weights.shape[1] % 4 == 0
        and images.dtype == gradient.dtype == torch.float32
        and images.device.type == "cpu"
    )


def take_over(graph: Graph, node: Node) -> None:
    """The weights' gradient comes from the kernel; PyTorch goes on to make the images' gradient."""
    for result in list(node.users):
        if result.args[1] == 1:
            with graph.inserting_before(result):
                ours = graph.call_function(torch.ops.classgrow.weight_gradient.default, node.args[:2])
            ours.meta.update(result.meta)
            result.replace_all_uses_with(ours)
            graph.erase_node(result)
    wanted = node.args[-1]
    assert isinstance(wanted, Sequence)
    node.args = (*node.args[:-1], [wanted[0], False, False])
    if not node.users:
        graph.erase_node(node)
