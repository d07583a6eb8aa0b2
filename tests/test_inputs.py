"""What the network sees goes by preset, shape and the data set's own statistics."""

from __future__ import annotations

import pytest

from classgrow.errors import ClassgrowError
from classgrow.inputs import inputs_for, kept_side
from classgrow.presets import PRESETS, checked_preset, preset_for


def test_presets_go_by_size() -> None:
    assert [preset_for(size) for size in (8, 16, 17, 28, 32, 64, 65, 224)] == (
        ["digits"] * 2 + ["cifar"] * 4 + ["imagenet"] * 2
    )
    assert [(name, preset.name) for name, preset in PRESETS.items()] == [(name, name) for name in PRESETS]
    assert checked_preset("cifar") == "cifar"
    with pytest.raises(ClassgrowError, match=r"no preset 'imgenet': `preset` is .*Did you mean 'imagenet'\?"):
        checked_preset("imgenet")


def test_small_images_in_colour_are_seen_as_fgp_sees_them() -> None:
    inputs = inputs_for("cifar", (32, 32, 3))
    assert (inputs.mean, inputs.std) == ((0.5071, 0.4867, 0.4408), (0.2675, 0.2565, 0.2761))
    assert (inputs.size, inputs.padding, inputs.mirror, inputs.crop) == (32, 4, True, "pad")
    assert inputs.brightness == 63 / 255


@pytest.mark.parametrize(("side", "padding"), [(8, 1), (28, 2)])
def test_grey_images_are_not_mirrored_unless_said(side: int, padding: int) -> None:
    inputs = inputs_for(preset_for(side), (side, side, 1))
    assert (inputs.mirror, inputs.brightness, inputs.padding) == (False, 0.0, padding)
    assert (inputs.mean, inputs.std, inputs.channels) == ((0.5,), (0.25,), 1)
    assert inputs_for(preset_for(side), (side, side, 1), mirror=True).mirror
    assert not inputs_for("cifar", (32, 32, 3), mirror=False).mirror


def test_statistics_of_the_data_win() -> None:
    inputs = inputs_for("cifar", (28, 28, 1), ((0.1307,), (0.3081,)))
    assert (inputs.mean, inputs.std) == ((0.1307,), (0.3081,))


def test_large_images_are_cropped_to_224() -> None:
    inputs = inputs_for("imagenet", (256, 256, 3))
    assert (inputs.size, inputs.crop, inputs.padding, kept_side(inputs)) == (224, "resized", 0, 256)
    assert inputs.mean == (0.485, 0.456, 0.406)
    assert inputs_for("imagenet", (96, 128, 3)).size == 96


def test_a_preset_given_by_hand_decides() -> None:
    """Photos of 96 pixels padded as CIFAR's are: 96 / 8 pixels; small ones cropped as ImageNet's."""
    assert (inputs_for("cifar", (96, 96, 3)).padding, inputs_for("cifar", (96, 96, 3)).crop) == (12, "pad")
    assert (inputs_for("imagenet", (32, 32, 3)).size, inputs_for("imagenet", (32, 32, 3)).crop) == (32, "resized")


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ClassgrowError, match="resize them to 32 x 32"):
        inputs_for("cifar", (32, 40, 3))
    for shape in ((32, 32), (32, 32, 0), (1, 2, 3, 4)):
        with pytest.raises(ClassgrowError, match=r"`shape` is \(height, width, channels\)"):
            inputs_for("cifar", shape)  # type: ignore[arg-type]
