"""Whatever images a user has, as one uint8 tensor (N, H, W, C)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from classgrow.data.opening import open_image
from classgrow.errors import ClassgrowError

Size = tuple[int, int]  # height, width
OneImage = np.ndarray | Tensor | Image.Image | str | Path
ImagesLike = np.ndarray | Tensor | Iterable[OneImage]
"""What users may call images: an array (N, H, W, C) or (N, H, W), or any collection of images, arrays and paths."""

GREYS = ("L", "LA", "La", "I", "I;16", "I;16B", "I;16L", "I;16N")
"""Pillow's names for one channel, with or without how opaque it is."""
_NOTHING = Image.new("L", (1, 1))


def as_images(images: ImagesLike, size: Size | None = None) -> Tensor:
    """All of `images` as one uint8 tensor (N, H, W, C), C being 1 or 3.

    Takes uint8 numpy arrays or torch tensors, (N, H, W, C) or (N, H, W), which share their memory with the
    result; or a sequence of PIL images and paths, which are turned upright (EXIF), laid on white where they are
    transparent, and made RGB unless all of them are greyscale (mode "L"). Images not of `size` (height, width; left
    out: that of the first image) are resized by their tighter side and cropped around the centre.
    """
    if isinstance(images, np.ndarray) and images.dtype.kind in "OU":
        images = images.tolist()
    if isinstance(images, np.ndarray | Tensor):
        pixels = _from_array(images)
        if size is None or tuple(pixels.shape[1:3]) == tuple(size):
            return pixels
        return _decoded([_to_pillow(image) for image in pixels.cpu().numpy()], size)
    if isinstance(images, str | Path | Image.Image):
        raise ClassgrowError("One image alone is not a collection of images: put it in a list, as in [image].")
    if not isinstance(images, Sequence):
        raise ClassgrowError(
            f"Images cannot be read from {type(images).__name__}: "
            "give a uint8 array (N, H, W, C), or a list of PIL images or paths."
        )
    if len(images) == 0:
        raise ClassgrowError("There are no images here: give at least one.")
    return _decoded(images, size)


def _from_array(images: np.ndarray | Tensor) -> Tensor:
    shape, kind = tuple(images.shape), str(images.dtype).removeprefix("torch.")
    if kind.startswith(("float", "bfloat")):
        raise ClassgrowError(
            f"Images must be uint8 with values 0 to 255, not {kind}: convert values of 0 to 1 with "
            "(images * 255).round() and then to uint8."
        )
    if kind != "uint8":
        raise ClassgrowError(f"Images must be uint8 with values 0 to 255, not {kind}: scale and convert them to uint8.")
    if len(shape) not in (3, 4):
        raise ClassgrowError(f"Images must be (N, H, W, C) or (N, H, W), not {shape}: add or remove dimensions.")
    if 0 in shape:
        raise ClassgrowError(f"There are no images in an array of shape {shape}: give at least one.")
    if len(shape) == 3 and shape[2] == 3 < shape[1]:
        raise ClassgrowError(f"The shape {shape} looks like one image alone: add a first dimension with images[None].")
    if len(shape) == 4 and shape[3] == 4 and shape[1] not in (1, 3):
        return on_white(images)
    if len(shape) == 4 and shape[3] not in (1, 3):
        _refuse_channels(shape)
    tensor = images if isinstance(images, Tensor) else torch.from_numpy(_shareable(images))
    return (tensor if tensor.ndim == 4 else tensor.unsqueeze(3)).contiguous()


def _refuse_channels(shape: tuple[int, ...]) -> None:
    if shape[1] in (1, 3):
        raise ClassgrowError(
            f"The shape {shape} looks like channels first: permute the images to (N, H, W, C), "
            "with images.transpose(0, 2, 3, 1) in numpy or images.permute(0, 2, 3, 1) in torch."
        )
    raise ClassgrowError(
        f"Images must have 1 or 3 channels, not {shape[3]}: keep the colour channels only, as in images[..., :3]."
    )


def on_white(images: np.ndarray | Tensor) -> Tensor:
    """Images with a fourth channel, how opaque they are, as colours (N, H, W, 3) on white paper."""
    pixels = torch.as_tensor(images).to(torch.int32)
    opaque = pixels[..., 3:]
    return ((pixels[..., :3] * opaque + 255 * (255 - opaque) + 127) // 255).to(torch.uint8)


def _shareable(images: np.ndarray) -> np.ndarray:
    """The same memory where torch can share it: writable, without negative strides."""
    return images if images.flags.writeable and images.flags.c_contiguous else np.array(images, order="C")


@dataclass(frozen=True)
class Usable:
    """The pixels of those images that could be read, their places among all, and a sentence for each of the others."""

    pixels: Tensor
    places: list[int]
    problems: list[str]


def usable_images(images: Sequence[object], size: Size) -> Usable:
    """A list as `as_images` reads it, without those of its files and pictures that cannot be read."""
    problems: list[str] = []
    opened: dict[int, Image.Image] = {}

    def readable() -> Iterator[Image.Image]:
        for place, given in enumerate(images):
            try:
                opened[place] = _opened(given, place)
            except ClassgrowError as problem:
                problems.append(str(problem))
            else:
                yield opened[place]
                opened[place] = _NOTHING  # its pixels are kept once

    pixels = _filled(readable(), len(images), size)
    return Usable(pixels[: len(opened)], list(opened), problems)


def _decoded(images: Sequence[object], size: Size | None) -> Tensor:
    return _filled((_opened(given, place) for place, given in enumerate(images)), len(images), size)


def _filled(images: Iterable[Image.Image], most: int, size: Size | None) -> Tensor:
    """Fills the result image by image, so that no second copy of all the pixels is ever held."""
    out: np.ndarray | None = None
    for place, given in enumerate(images):
        image = given
        if size is None:
            size = (image.height, image.width)
        if (image.height, image.width) != tuple(size):
            image = ImageOps.fit(image, (size[1], size[0]), method=Image.Resampling.BICUBIC)
        channels = 1 if image.mode == "L" else 3
        if out is None:
            out = np.empty((most, *size, channels), dtype=np.uint8)
        elif channels > out.shape[3]:  # the first colour image among greyscale ones
            out = np.repeat(out, channels, axis=3)
        out[place] = np.asarray(image).reshape(*size, channels)
    return torch.empty(0, *(size or (0, 0)), 1, dtype=torch.uint8) if out is None else torch.from_numpy(out)


def _opened(given: object, place: int) -> Image.Image:
    """One upright image of mode "L" or "RGB"."""
    if isinstance(given, Image.Image):
        return plain_image(given, f"Image {place}")
    if not isinstance(given, str | Path):
        raise ClassgrowError(
            f"Image {place} is a {type(given).__name__}: a list must hold PIL images or paths "
            "(stack arrays into one with numpy.stack)."
        )
    path = Path(given)
    if not path.is_file():
        raise ClassgrowError(f"There is no image file {path}: check the path.")
    try:
        with open_image(path) as image:
            return plain_image(image, str(path))
    except ClassgrowError:
        raise
    except Exception as problem:  # decoders fail in many ways on broken bytes
        raise ClassgrowError(
            f"The image file {path} cannot be read ({problem}): replace it or leave it out."
        ) from problem


def short_side_and_channels(given: object) -> tuple[int, int] | None:
    """Of one picture or file, without decoding it; None where it cannot be opened."""
    try:
        if isinstance(given, Image.Image):
            return min(given.size), 1 if given.mode in GREYS else 3
        with open_image(Path(str(given))) as image:
            return min(image.size), 1 if image.mode in GREYS else 3
    except Exception:  # what is wrong is said when it is read
        return None


def plain_image(image: Image.Image, name: str) -> Image.Image:
    """The image upright (EXIF) and in mode "L" or "RGB"; `name` is for the error message."""
    upright = ImageOps.exif_transpose(image)
    if upright.mode == "F":
        raise ClassgrowError(f"{name} holds floating point pixels: save it as an 8-bit image.")
    if upright.mode.startswith("I"):  # 16-bit greyscale: keep the upper 8 bits
        high = np.asarray(upright).astype(np.int64).clip(0, 65535) >> 8
        return Image.fromarray(high.astype(np.uint8))
    if upright.has_transparency_data:
        return _on_white(upright)
    if upright.mode == "L":
        upright.load()
        return upright
    return upright.convert("RGB")


def _on_white(image: Image.Image) -> Image.Image:
    """A picture that is transparent in places, on white paper; one of greys stays one."""
    grey = image.mode in ("L", "LA", "La")
    with_alpha = image.convert("RGBA")
    paper = Image.new("RGB", image.size, (255, 255, 255))
    paper.paste(with_alpha, mask=with_alpha.getchannel("A"))
    return paper.convert("L") if grey else paper


def _to_pillow(image: np.ndarray) -> Image.Image:
    return Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image)
