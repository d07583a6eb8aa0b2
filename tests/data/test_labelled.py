from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from classgrow.data.labelled import ArrayStore, ClassLabel, Dataset, JoinedStore, LabelledImages
from classgrow.errors import ClassgrowError


def numbered(*values: int) -> Tensor:
    """Images of 1 by 2 pixels whose every pixel is the image's own number."""
    return torch.tensor(values, dtype=torch.uint8).view(-1, 1, 1, 1).expand(-1, 1, 2, 1).contiguous()


def values(images: Tensor) -> list[int]:
    return images[:, 0, 0, 0].tolist()


@pytest.fixture
def pets() -> LabelledImages:
    """Cats are images 10 and 13, dogs 11, birds 12 and 14."""
    return LabelledImages.from_arrays(numbered(10, 11, 12, 13, 14), [0, 1, 2, 0, 2], ["cat", "dog", "bird"])


def test_from_arrays_numbers_the_names(pets: LabelledImages) -> None:
    assert pets.classes == (ClassLabel(0, "cat"), ClassLabel(1, "dog"), ClassLabel(2, "bird"))
    assert (len(pets), pets.shape) == (5, (1, 2, 1))
    assert pets.counts().tolist() == [2, 1, 2]


def test_from_arrays_without_names_uses_the_labels() -> None:
    view = LabelledImages.from_arrays(np.zeros((2, 4, 4), np.uint8), np.array([2, 0]))
    assert [label.name for label in view.classes] == ["0", "1", "2"]
    assert view.counts().tolist() == [1, 0, 1]


def test_from_arrays_keeps_the_caller_s_memory() -> None:
    pixels = numbered(1, 2)
    view = LabelledImages.from_arrays(pixels, [0, 0])
    assert isinstance(view.store, ArrayStore)
    assert view.store.images.data_ptr() == pixels.data_ptr()


def test_read_follows_positions_in_any_order_with_repeats(pets: LabelledImages) -> None:
    assert values(pets.read(torch.tensor([4, 0, 4]))) == [14, 10, 14]
    assert pets.read(torch.tensor([], dtype=torch.int64)).shape == (0, 1, 2, 1)


def test_select_takes_positions_or_a_mask(pets: LabelledImages) -> None:
    chosen = pets.select(torch.tensor([3, 1]))
    assert chosen.labels.tolist() == [0, 1]
    assert values(chosen.read(torch.tensor([0, 1]))) == [13, 11]
    assert pets.select(pets.labels == 2).indices.tolist() == [2, 4]
    assert chosen.store is pets.store


def test_of_keeps_labels_and_classes(pets: LabelledImages) -> None:
    kept = pets.of([2, 1])
    assert kept.labels.tolist() == [1, 2, 2]
    assert kept.classes == pets.classes
    assert len(pets.of([])) == 0


def test_relabelled_reorders_classes_and_drops_the_rest(pets: LabelledImages) -> None:
    """Birds (2) become label 0 and cats (0) label 1; dogs go."""
    view = pets.relabelled([2, 0])
    assert view.labels.tolist() == [1, 0, 1, 0]
    assert view.indices.tolist() == [0, 2, 3, 4]
    assert view.classes == (ClassLabel(2, "bird"), ClassLabel(0, "cat"))


def test_joined_reads_both_sides_without_copying(pets: LabelledImages) -> None:
    exemplars = LabelledImages(ArrayStore(numbered(90, 91)), torch.tensor([1]), torch.tensor([0]), pets.classes[:1])
    both = pets.select(torch.tensor([4, 0])).joined(exemplars)
    assert both.labels.tolist() == [2, 0, 0]
    assert values(both.read(torch.arange(3))) == [14, 10, 91]
    assert both.classes == exemplars.joined(pets).classes == pets.classes
    assert isinstance(both.store, JoinedStore)
    assert both.store.stores == (pets.store, exemplars.store)


def test_joined_views_of_one_store_stay_in_it(pets: LabelledImages) -> None:
    assert pets.of([0]).joined(pets.of([1])).store is pets.store


@given(
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=5).filter(sum),
    data=st.data(),
)
def test_joined_store_reads_as_the_concatenation_does(lengths: list[int], data: st.DataObject) -> None:
    whole = torch.arange(sum(lengths) * 2, dtype=torch.uint8).view(-1, 1, 2, 1)
    parts = [ArrayStore(part) for part in whole.split(lengths)]
    indices = torch.tensor(data.draw(st.lists(st.integers(0, len(whole) - 1))), dtype=torch.int64)
    nested = JoinedStore((JoinedStore(parts[:1]), JoinedStore((JoinedStore(parts[1:]),)))) if parts[1:] else None
    for joined in filter(None, (JoinedStore(parts), nested)):
        assert joined.stores == tuple(parts)
        assert len(joined) == len(whole)
        assert torch.equal(joined.read(indices), whole[indices])


@pytest.mark.parametrize("index", [-1, 3])
def test_joined_store_refuses_what_is_out_of_range(index: int) -> None:
    store = JoinedStore((ArrayStore(numbered(1, 2)), ArrayStore(numbered(3))))
    with pytest.raises(IndexError):
        store.read(torch.tensor([0, index]))


def test_stores_of_different_shapes_are_not_joined(pets: LabelledImages) -> None:
    colour = LabelledImages.from_arrays(torch.zeros(1, 1, 2, 3, dtype=torch.uint8), [0], ["cat"])
    with pytest.raises(ClassgrowError, match="one size and channel count"):
        pets.joined(colour)


def test_different_classes_are_not_joined(pets: LabelledImages) -> None:
    with pytest.raises(ClassgrowError, match="relabel one side"):
        pets.joined(pets.relabelled([1, 0]))


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ([0], "one label per image"),
        ([0, 5], "labels must be 0 to 2"),
        ([0, -1], "labels must be 0 to 2"),
        ([0.0, 1.0], "whole numbers"),
        (["cat", "dog"], "whole numbers"),
    ],
)
def test_wrong_labels_are_refused_with_the_way_out(labels: list[object], says: str) -> None:
    with pytest.raises(ClassgrowError, match=says):
        LabelledImages.from_arrays(numbered(1, 2), labels, ["cat", "dog", "bird"])


@pytest.mark.parametrize(("order", "says"), [([0, 3], "no class 3"), ([-1], "no class -1"), ([1, 1], "twice")])
def test_wrong_orders_are_refused(pets: LabelledImages, order: list[int], says: str) -> None:
    with pytest.raises(ClassgrowError, match=says):
        pets.relabelled(order)


def test_a_data_set_has_one_list_of_classes(pets: LabelledImages) -> None:
    assert Dataset("pets", pets, pets.of([0])).classes == pets.classes
    with pytest.raises(ClassgrowError, match="same classes"):
        Dataset("pets", pets, pets.relabelled([1]))


def test_a_store_holds_bytes_only() -> None:
    with pytest.raises(ClassgrowError, match="as_images"):
        ArrayStore(torch.zeros(1, 2, 2, 3))
