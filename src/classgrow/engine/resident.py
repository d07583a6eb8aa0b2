"""Data that stay on the device: small data sets are moved there once instead of batch by batch."""

from __future__ import annotations

from dataclasses import replace

import torch

from classgrow.data.labelled import ArrayStore, Dataset, ImageStore

SHARE = 0.4
"""Of the device's free memory that images may take; the rest is for the network and its gradients."""


def resident(dataset: Dataset, device: torch.device, free_bytes: int | None = None) -> Dataset:
    """The same data set with its pixels on a GPU where they are arrays and fit; as it is on any other device."""
    if device.type == "cpu" or device.type == "mps":
        return dataset
    if free_bytes is None:
        free_bytes, _ = torch.cuda.mem_get_info(device)
    stores = (dataset.train.store, dataset.test.store)
    if not all(isinstance(store, ArrayStore) for store in stores):
        return dataset
    arrays = {id(store): store for store in stores if isinstance(store, ArrayStore)}
    if sum(store.images.nbytes for store in arrays.values()) > SHARE * free_bytes:
        return dataset
    moved: dict[int, ImageStore] = {name: ArrayStore(store.images.to(device)) for name, store in arrays.items()}
    train, test = (replace(part, store=moved[id(part.store)]) for part in (dataset.train, dataset.test))
    return replace(dataset, train=train, test=test)
