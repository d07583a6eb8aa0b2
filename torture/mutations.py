"""Mutated inputs: real files and values, changed a little or a lot, given to whatever reads them."""

from __future__ import annotations

import copy
import gzip
import io
import json
import random
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from PIL import Image

from classgrow import checkpoint
from classgrow.bundle import CONFIG_FILE, WEIGHTS_FILE, checksum
from classgrow.cli.show import facts
from classgrow.cli.tables import detail_table, runs_table
from classgrow.data.cifar100 import SHA256, load_cifar100
from classgrow.data.decode import BrokenImageError, decode
from classgrow.data.mnist import FILES, load_mnist
from classgrow.learner import Learner
from classgrow.records.export import rows
from classgrow.records.record import RECORD_FILE, read_record, write_record
from classgrow.specs.orders import resolve_order
from classgrow.specs.spec import Spec
from torture.small import go, learner, small_digits
from torture.tally import Limits, Tally

STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 10**12, 2**63, 10**400, 0.5, -0.0, float("nan"), float("inf"), 1e308, "", " ", "x" * 10_000,
    "\0", "\x1b[2J", "[red]", "../../x", "=1+1", "<b>", "\ud800", "0", [], [[]], {}, {"a": 1}, [1, 2, 3],
)  # fmt: skip
"""Values that somebody's code does not expect."""


@dataclass(frozen=True)
class Target:
    """Something that reads: `make` gives its next input, `read` is fed with it. `others`: what it may raise besides
    a sentence. An assertion in `read` that fails is a problem, too."""

    name: str
    make: Callable[[random.Random], Any]
    read: Callable[[Any], object]
    others: tuple[type[BaseException], ...] = ()


def mutations(limits: Limits) -> Tally:
    """Targets in turns, each try with another input."""
    tally = Tally()
    limits.folder.mkdir(parents=True, exist_ok=True)
    known = targets(limits.folder)
    while True:
        for target in known:
            if not limits.more():
                return tally
            given = target.make(limits.draw)
            with (
                tally.trying(target.name, *target.others),
                redirect_stdout(io.StringIO()),
                redirect_stderr(io.StringIO()),
            ):
                target.read(given)


def changed_bytes(content: bytes, draw: random.Random) -> bytes:
    """A few flipped bits, bytes cut out, doubled, replaced; or the end missing."""
    found = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 5, 20))):
        place = draw.randrange(len(found) + 1)
        match draw.randrange(6):
            case 0 if place < len(found):
                found[place] ^= 1 << draw.randrange(8)
            case 1:
                found[place : place + draw.randrange(1, 9)] = draw.randbytes(draw.randrange(9))
            case 2:
                del found[place : place + draw.randrange(1, 200)]
            case 3:
                found[place:place] = found[max(0, place - draw.randrange(1, 200)) : place]
            case 4:
                found[place : place + 4] = draw.choice((b"\xff" * 4, bytes(4), b"\x7f\xff\xff\xff", b"\x80" + bytes(3)))
            case 5 if draw.random() < 0.2:
                del found[place:]
    return bytes(found)


def changed_values(content: Any, draw: random.Random) -> Any:
    """JSON values with some of them replaced, removed or repeated, at any depth."""
    found = json.loads(json.dumps(content))
    for _ in range(draw.choice((1, 1, 2, 4))):
        here = found
        while isinstance(here, dict | list) and here:
            place = draw.choice(list(here) if isinstance(here, dict) else range(len(here)))
            deeper = here[place]
            if isinstance(deeper, dict | list) and deeper and draw.random() < 0.8:
                here = deeper
                continue
            if draw.random() < 0.15:
                del here[place]
            elif isinstance(here, list) and draw.random() < 0.1:
                here.append(copy.deepcopy(deeper))
            else:
                here[place] = copy.deepcopy(draw.choice(STRANGE))  # a later change may be within it
            break
    return found


def in_file(path: Path, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """`read` of a file that holds what is given."""

    def fed(content: bytes) -> object:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return read(path)

    return fed


def targets(folder: Path) -> list[Target]:
    """Everything that reads what others may have written. Another one is a line here."""
    return [
        *_texts(folder),
        *_of_a_run(folder),
        *_of_a_bundle(folder),
        *_of_data(folder),
        Target("command line", _words, _typed, (SystemExit,)),
    ]


def _texts(folder: Path) -> list[Target]:
    toml = b'dataset = "digits"\nmethod = "fgp"\nmemory = 20\nseed = 3\n[options]\nstrength = 0.5\n'
    order = b"[3, 1, 0, 2]"
    return [
        Target("TOML", lambda draw: changed_bytes(toml, draw), in_file(folder / "a.toml", Spec.from_toml)),
        Target("settings", _settings, Spec.from_options),
        Target(
            "order",
            lambda draw: changed_bytes(order, draw),
            in_file(folder / "order", lambda path: resolve_order(str(path), 4)),
        ),
    ]


def _settings(draw: random.Random) -> dict[str, object]:
    return {draw.choice(list(Spec.model_fields)): draw.choice(STRANGE) for _ in range(3)}


def _of_a_run(folder: Path) -> list[Target]:
    with small_digits():
        made = go("fgp", folder / "run").folder
    record, saved = (made / RECORD_FILE).read_bytes(), (made / "checkpoint.safetensors").read_bytes()
    content = {name: value for name, value in json.loads(record).items() if name != "digest"}
    good, (tensors, plain) = read_record(made / RECORD_FILE), checkpoint.read(made / "checkpoint.safetensors")

    def same_record(path: Path) -> None:
        assert read_record(path) == good, "a changed record reads as another one"

    def same_checkpoint(path: Path) -> None:
        found = checkpoint.read(path)
        assert found[1] == plain and all(torch.equal(value, tensors[name]) for name, value in found[0].items())

    return [
        Target(
            "record, sealed", lambda draw: changed_bytes(record, draw), in_file(folder / "a" / RECORD_FILE, same_record)
        ),
        Target(
            "record, not sealed",
            lambda draw: json.dumps(changed_values(content, draw)).encode(),
            in_file(folder / "b" / RECORD_FILE, shown),
        ),
        Target("checkpoint", lambda draw: changed_bytes(saved, draw), in_file(folder / "saved", same_checkpoint)),
    ]


def shown(path: Path) -> None:
    """A record that can be read can be shown, exported and written again."""
    record = read_record(path)
    facts(path.parent, record)
    detail_table(record)
    runs_table([(path.parent, record)])
    list(rows([record]))
    write_record(record, path)
    assert read_record(path) == record, "a record reads otherwise once it is written again"


def _of_a_bundle(folder: Path) -> list[Target]:
    learner().save(folder / "model")
    config = (folder / "model" / CONFIG_FILE).read_bytes()
    tensors, plain = checkpoint.read(folder / "model" / WEIGHTS_FILE)
    black = np.zeros((1, 8, 8), np.uint8)
    answer = Learner.load(folder / "model").scores(black)

    def loaded(content: tuple[bytes, bytes]) -> None:
        place = folder / "other"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        (place / CONFIG_FILE).write_bytes(content[0])
        (place / WEIGHTS_FILE).write_bytes(content[1])
        scores = Learner.load(place).scores(black)
        assert np.isfinite(scores).all(), "a forged model answers with what is no number"

    def same(content: tuple[bytes, bytes]) -> None:
        loaded(content)
        assert np.array_equal(Learner.load(folder / "other").scores(black), answer), "a damaged model answers otherwise"

    def forged(draw: random.Random) -> tuple[bytes, bytes]:
        """With checksums that fit."""
        text, state, parts = json.loads(config), plain["state"], dict(tensors)
        match draw.randrange(3):
            case 0:
                text = changed_values(text, draw)
            case 1:
                state = changed_values(state, draw)
            case 2:
                name = draw.choice(sorted(parts))
                parts[name] = changed_tensor(parts[name], draw)
        written = json.dumps(text).encode()
        return written, checkpoint.packed(parts, {"state": state, "config": checksum(written)})

    whole = (folder / "model" / WEIGHTS_FILE).read_bytes()

    def damaged(draw: random.Random) -> tuple[bytes, bytes]:
        if draw.random() < 0.5:
            return changed_bytes(config, draw), whole
        return config, changed_bytes(whole, draw)

    return [Target("bundle, damaged", damaged, same), Target("bundle, forged", forged, loaded)]


def changed_tensor(value: torch.Tensor, draw: random.Random) -> torch.Tensor:
    value = value.clone()
    match draw.randrange(6):
        case 0 if value.numel() and value.is_floating_point():
            value.view(-1)[draw.randrange(value.numel())] = draw.choice((float("nan"), float("inf"), -1e38))
        case 1 if value.ndim and len(value):
            value = value[: draw.randrange(len(value))]
        case 2:
            value = value[None]
        case 3:
            value = value.to(draw.choice((torch.float64, torch.int64, torch.uint8, torch.float16)))
        case 4 if value.ndim:
            value = torch.cat((value, value))
        case _:
            value = torch.zeros(draw.choice(((0,), (10**12, 0), (1, 1, 1, 1), ())))
    return value.contiguous()


def _of_data(folder: Path) -> list[Target]:
    idx = {name: _idx(name) for pair in FILES.values() for name in pair}

    def mnist(draw: random.Random) -> dict[str, bytes]:
        broken = draw.choice(list(idx))
        packed = draw.random() < 0.5
        content = (
            gzip.compress(changed_bytes(idx[broken], draw), 1)
            if packed
            else changed_bytes(gzip.compress(idx[broken], 1), draw)
        )
        return {**{name: gzip.compress(text, 1) for name, text in idx.items()}, broken: content}

    def read_mnist(files: dict[str, bytes]) -> None:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        load_mnist(folder)

    def cifar(content: bytes) -> None:
        for name in SHA256:
            (folder / name).write_bytes(content)
        load_cifar100(folder)

    pictures = [_picture(kind) for kind in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")]
    return [
        Target("IDX", mnist, read_mnist),
        Target("CIFAR", lambda draw: changed_bytes(b"\x80\x02}q\x00(U\x04dataq\x01", draw), cifar),
        Target(
            "image",
            lambda draw: changed_bytes(draw.choice(pictures), draw),
            lambda content: decode(content, 16),
            (BrokenImageError,),
        ),
    ]


def _idx(name: str) -> bytes:
    images = "images" in name
    shape = (3, 28, 28) if images else (3,)
    return bytes((0, 0, 8, len(shape))) + np.array(shape, ">u4").tobytes() + bytes(int(np.prod(shape)))


def _picture(kind: str) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.random.default_rng(1).integers(0, 255, (40, 30, 3), dtype=np.uint8)).save(stream, kind)
    return stream.getvalue()


FLAGS = (
    "--dataset", "--method", "--rule", "--network", "--preset", "--memory", "--memory-per-class", "--first", "--step",
    "--order", "--seed", "--epochs", "--phases", "--classes", "--profile", "--selection", "--lr", "--option",
    "--threads", "--processes", "--device", "--compile", "--precision", "--on-divergence",
)  # fmt: skip


def _words(draw: random.Random) -> list[str]:
    words = ["run"]
    for _ in range(draw.randrange(1, 5)):
        value = draw.choice((*STRANGE, "digits", "fgp", 3, "strength=1", "=", "a=b=c", "--", "-1"))
        words += [draw.choice(FLAGS), str(value)]
    return words


def _typed(words: list[str]) -> None:
    """As `main` would, up to the point where a run would begin."""
    from classgrow.cli import app
    from classgrow.specs.spec import resolve

    def begin(spec: Spec, how: object) -> None:
        resolve(spec, 10, "fgp", (8, 8, 1))

    with patch("classgrow.cli.run.run_here_or_in_several", begin), patch("signal.signal"):
        app(words, prog_name="classgrow")
