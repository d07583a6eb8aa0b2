"""Photos whose label is likely wrong: a frozen pretrained network sees them as another class."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from classgrow.data.labelled import ArrayStore, ClassLabel, LabelledImages
from classgrow.engine.inference import outputs
from classgrow.engine.runtime import Runtime
from classgrow.errors import ClassgrowError
from classgrow.learner.answers import best_temperature, probabilities
from classgrow.networks.catalogue import NETWORKS, PRETRAINED, build_backbone
from classgrow.networks.network import Network
from classgrow.networks.pretrained import load_pretrained
from classgrow.parts.discriminant import LinearDiscriminant, solved, sums_of
from classgrow.parts.folds import FOLDS, folds_of
from classgrow.parts.rules import Rule
from classgrow.photos.finding import PhotosLike
from classgrow.photos.intake import Wanted, take_in
from classgrow.progress import Progress
from classgrow.specs.training import Asked, pretrained_inputs
from classgrow.views import Outputs

FEWEST = 4
"""Photos of a class below which nothing can be said of its labels."""
SURE = 0.5
"""The probability below which a photo looks like nothing in particular."""


class Sample:
    """Features and labels, as rules ask for them."""

    mirrored: Tensor | None = None

    def __init__(self, features: Tensor, labels: Tensor) -> None:
        self.features, self.labels = features, labels


class NoHead(nn.Module):
    """Answers with features alone."""

    def forward(self, features: Tensor) -> Outputs:
        return Outputs(features, features[:, :0], features[:0])


def suspects(photos: PhotosLike, progress: Progress) -> tuple[list[tuple[str, str]], str]:
    """(file, what it looks like instead), the surest first; and a sentence where nothing could be looked at.

    Each photo is classified by a rule fitted without its fold. As in confident learning (Northcutt et al. 2021,
    Eq. 1 and 2) a photo of class i is taken for one of class j if j is its likeliest class, at least as likely as j
    is for the photos labelled j on average.
    """
    facts = NETWORKS[PRETRAINED]
    backbone = build_backbone(PRETRAINED, 3, True)
    try:
        load_pretrained(backbone, facts)
    except ClassgrowError as problem:
        return [], f"Labels were not looked at: {problem}"
    assert facts.pretrained is not None
    taken = take_in(photos, None, Wanted(facts.pretrained.size, progress=progress))
    names = sorted(name for name, count in taken.counts.items() if count >= FEWEST)
    if len(names) < 2:
        return [], f"Labels were not looked at: that needs two classes of {FEWEST} photos or more."
    place = {name: number for number, name in enumerate(names)}
    chosen = torch.tensor([number for number, name in enumerate(taken.names) if name in place])
    labels = torch.tensor([place[taken.names[number]] for number in chosen.tolist()])
    found = _features(backbone, taken.pixels, chosen, progress)
    wrong = mislabelled(found, labels, len(names))
    files = [taken.sources[number] for number in chosen.tolist()]
    told = [(files[one], f"looks like {names[other]} ({100 * sure:.0f} % sure)") for one, other, sure in wrong]
    few = len(taken.counts) - len(names)
    note = f"Labels were not looked at in classes with fewer than {FEWEST} photos ({few})." if few else ""
    return told, note


def _features(backbone: nn.Module, pixels: Tensor, chosen: Tensor, progress: Progress) -> Tensor:
    """The features of the chosen photos, by what is known of the network's own inputs."""
    inputs = pretrained_inputs(Asked(network=PRETRAINED, pretrained=True))
    assert inputs is not None
    network, runtime = Network(backbone, NoHead()).eval(), Runtime()
    everything = LabelledImages(ArrayStore(pixels), chosen, torch.zeros_like(chosen), (ClassLabel(0, ""),))
    parts = []
    progress.begin("looking for wrong labels", len(chosen))
    try:
        with runtime.active():
            network.to(runtime.device)
            for one in outputs(network, everything, inputs, runtime):
                parts.append(one.features.float().cpu())
                progress.advance(len(one.features))
    finally:
        progress.end()
    return torch.cat(parts).clone()


def mislabelled(features: Tensor, labels: Tensor, classes: int) -> list[tuple[int, int, float]]:
    """(photo, class it looks like, probability of that), the surest first."""
    rule: Rule = LinearDiscriminant()
    folds, scores = folds_of(labels), torch.zeros(len(labels), classes)
    for fold in range(FOLDS):
        out = folds == fold
        if bool(out.any()):
            fitted = solved(sums_of(Sample(features[~out], labels[~out]), classes))
            scores[out] = rule.scores(Outputs(features[out], features[out, :0], features[:0]), fitted).float()
    found = probabilities(scores, best_temperature(scores, labels))
    usual = torch.stack([found[labels == number, number].mean() for number in range(classes)])
    sure, looks_like = found.max(1)
    wrong = torch.nonzero((looks_like != labels) & (sure >= usual[looks_like].clamp(min=SURE)))[:, 0]
    told = [(one, int(looks_like[one]), float(sure[one])) for one in wrong.tolist()]
    return sorted(told, key=lambda item: (-item[2], item[0]))
