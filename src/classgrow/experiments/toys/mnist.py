"""The toy of figure 3: ten digits at once, features of three numbers, two trainings that differ in the head alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from classgrow.data.catalogue import load
from classgrow.data.labelled import Dataset, LabelledImages
from classgrow.engine.inference import outputs
from classgrow.engine.loop import Fit, Training
from classgrow.engine.runtime import Runtime, decide
from classgrow.errors import ClassgrowError
from classgrow.inputs import Inputs
from classgrow.networks.network import Network
from classgrow.parts.classification import BinaryCrossEntropy
from classgrow.parts.heads import CosineHead, Head, RectifiedCosineHead
from classgrow.progress import Progress, Silent
from classgrow.recipes import Recipe, Schedule
from classgrow.records.toys import Mnist, MnistScores
from classgrow.seeds import generator, seeded
from classgrow.views import ClassCounts

HEADS: dict[str, Head] = {"rectified": RectifiedCosineHead(), "cosine": CosineHead()}
FEATURES, DIGITS = 3, 10
INPUTS = Inputs(28, 1, (0.1307,), (0.3081,), padding=0, mirror=False, brightness=0.0, crop="none")
SHOWN = 2000
"""Test images whose features are drawn."""
MEASURED = 10_000
"""Training images whose features give the class means."""
EPOCHS = 10
PERPLEXITY = 30.0


class ShallowNet(nn.Module):
    """Two convolutions and three full layers with the sizes of LeNet; the last gives the features, without a ReLU."""

    def __init__(self) -> None:
        super().__init__()
        self.features = FEATURES
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.full1 = nn.Linear(16 * 5 * 5, 120)
        self.full2 = nn.Linear(120, 84)
        self.full3 = nn.Linear(84, FEATURES)

    def forward(self, images: Tensor) -> Tensor:
        out = functional.max_pool2d(functional.relu(self.conv1(images)), 2)
        out = functional.max_pool2d(functional.relu(self.conv2(out)), 2)
        out = functional.relu(self.full1(out.flatten(1)))
        features: Tensor = self.full3(functional.relu(self.full2(out)))
        return features


@dataclass(frozen=True)
class Trained:
    """One of the two: features of the test images that are shown, and scores of how far apart the digits lie."""

    features: np.ndarray
    scores: MnistScores


def train_head(head: str, data: Dataset, epochs: int, seed: int, runtime: Runtime, progress: Progress) -> Network:
    """Train from the same start, on the same batches, whichever the head: SGD 0.1 with momentum 0.9."""
    with seeded(seed, "toy"):
        network = Network(ShallowNet(), HEADS[head].build(FEATURES))
    with seeded(seed, "head"):
        network.head.grow(DIGITS)
    network.to(runtime.device)
    schedule = Schedule(epochs, 0.1, (), 1.0)
    training = Training(
        network=network,
        teacher=None,
        data=data.train,
        # Averaged over classes, as FGP's code does. Summed, as Eq. 6 is printed, this rate drives features to lengths
        # of 66,000, where the 1 in (f, 1) means nothing.
        objective=BinaryCrossEntropy(),
        schedule=schedule,
        recipe=Recipe(schedule, schedule, None, 0.9, 0.0, "all", 128, drop_last=False),
        inputs=INPUTS,
        counts=ClassCounts(0, DIGITS),
        blocks=(DIGITS,),
        runtime=runtime,
        seed=seed,
        place=("toy",),
    )
    progress.begin(f"{head} head", epochs * len(data.train))
    training.run(Fit(), progress, lambda fit: None)
    progress.end()
    return network


def subset(data: LabelledImages, count: int, seed: int) -> LabelledImages:
    """So many images drawn by the seed, or all there are."""
    return data.select(torch.randperm(len(data), generator=generator(seed, "subset"))[:count])


def measure(network: Network, data: Dataset, seed: int, runtime: Runtime) -> Trained:
    """Features and how well they separate the digits: angles between the class means (`mean_angle`,
    `smallest_angle`), from an image to its own mean (`angle_within`), the first over the last (`separation`), and
    accuracies by nearest mean and by the head."""
    known, shown = subset(data.train, MEASURED, seed), subset(data.test, SHOWN, seed)
    known_features = torch.cat([one.features for one in outputs(network, known, INPUTS, runtime)]).double().cpu()
    answers = list(outputs(network, shown, INPUTS, runtime))
    features = torch.cat([one.features for one in answers]).double().cpu()
    unit = functional.normalize(known_features)
    means = torch.stack([unit[known.labels == digit].mean(0) for digit in range(DIGITS)])
    directions = functional.normalize(means)
    between = torch.rad2deg(torch.arccos((directions @ directions.T).clamp(-1, 1)))
    pairs = between[torch.triu_indices(DIGITS, DIGITS, 1).unbind()]
    own = torch.rad2deg(torch.arccos((functional.normalize(features) * directions[shown.labels]).sum(1).clamp(-1, 1)))
    nearest = torch.cdist(functional.normalize(features), directions).argmin(1)
    head = torch.cat([one.logits.argmax(1) for one in answers]).cpu()
    return Trained(
        features.numpy(),
        {
            "mean_angle": float(pairs.mean()),
            "smallest_angle": float(pairs.min()),
            "angle_within": float(own.mean()),
            "separation": float(pairs.mean() / own.mean()),
            "nearest_mean_accuracy": float((nearest == shown.labels).double().mean()),
            "head_accuracy": float((head == shown.labels).double().mean()),
        },
    )


def embed(features: np.ndarray, seed: int) -> np.ndarray:
    """t-SNE into the plane, fitted once on everything."""
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise ClassgrowError("t-SNE comes with scikit-learn: pip install 'classgrow[demo]'.") from None
    perplexity = min(PERPLEXITY, (len(features) - 1) / 3)
    found: np.ndarray = TSNE(
        perplexity=perplexity, init="pca", random_state=seed, n_jobs=1, learning_rate="auto"
    ).fit_transform(features.astype(np.float32))
    return found


def run_mnist(
    data_dir: Path | None = None,
    *,
    epochs: int = EPOCHS,
    seed: int = 1,
    images: int | None = None,
    progress: Progress | None = None,
) -> Mnist:
    """Both trainings, and the joint embeddings of raw and of unit features; `images` shortens the training set."""
    progress, runtime = progress or Silent(), Runtime(decide())
    data = load("mnist", data_dir)
    if images is not None:
        data = Dataset("mnist", subset(data.train, images, seed), data.test)
    trained = {
        head: measure(train_head(head, data, epochs, seed, runtime, progress), data, seed, runtime) for head in HEADS
    }
    count = len(trained["rectified"].features)
    raw = np.concatenate([one.features for one in trained.values()])
    unit = raw / np.maximum(np.linalg.norm(raw, axis=1, keepdims=True), 1e-12)
    embeddings = {}
    for name, features in (("raw", raw), ("unit", unit)):
        progress.say(f"t-SNE of {len(features)} {name} features")
        joint = embed(features, seed)
        embeddings[name] = {"rectified": joint[:count].tolist(), "cosine": joint[count:].tolist()}
    return {
        "what": "MNIST features with rectified and with plain cosine normalisation",
        "epochs": epochs,
        "seed": seed,
        "training_images": len(data.train),
        "perplexity": PERPLEXITY,
        "labels": subset(data.test, SHOWN, seed).labels.tolist(),
        "scores": {head: one.scores for head, one in trained.items()},
        "features": {head: one.features.round(5).tolist() for head, one in trained.items()},
        "embeddings": embeddings,
    }
