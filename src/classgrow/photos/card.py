"""README.md of a model: what it knows, how well, what it holds, and how to use it; with what model hubs look for."""

from __future__ import annotations

import html
from pathlib import Path

from classgrow.checkpoint import write_atomically
from classgrow.photos.folder import CARD
from classgrow.photos.history import Version
from classgrow.photos.pictures import accuracy_picture, contact_sheet
from classgrow.photos.saved import Content

SHEET, ACCURACY = "contact_sheet.png", "accuracy.png"
MOST_ON_SHEET = 60
METADATA = """---
pipeline_tag: image-classification
library_name: classgrow
tags:
- image-classification
- class-incremental-learning
metrics:
- accuracy
---
"""
USE = """```python
import classgrow

model = classgrow.load("{folder}")
model.predict("x.jpg").name   # None: none of these classes
model.learn("more_photos/")   # photos/<class>/*.jpg: new classes, or more of these
```

From a shell: `classgrow predict {folder} x.jpg`, `classgrow learn {folder} more_photos/`."""
MEASURED = {
    "cross-fitted": "Accuracy is measured on the kept photos, each by a rule fitted without it (4 folds): an estimate "
    "for photos like these, no promise for others.",
    "held-out": "Accuracy is measured on photos that were kept out of training: an estimate for photos like these, no "
    "promise for others.",
    "tested": "Accuracy is measured on the test images of the experiment that this model comes from.",
    "none": "Accuracy could not be measured: no class has two kept photos.",
}


def write_card(new: Path, content: Content) -> None:
    """README.md and its pictures, in the folder of a version that is otherwise complete."""
    latest = content.history[-1]
    pictures = []
    if latest.after:
        write_atomically(new / ACCURACY, accuracy_picture(latest))
        pictures.append(f"![Accuracy of each class before and after the last change]({ACCURACY})")
    if content.exemplars:
        sheet = contact_sheet(new, content.exemplars, content.classes, most=MOST_ON_SHEET)
        write_atomically(new / SHEET, sheet)
        pictures.append(f"![Photos that this model keeps]({SHEET})")
    write_atomically(new / CARD, card(content, pictures).encode("utf-8", "replace"))


def card(content: Content, pictures: list[str]) -> str:
    """The text of README.md."""
    sections = [
        f"# {len(content.classes)} classes of photos",
        summary(content),
        *pictures,
        f"## Classes\n\n{class_table(content)}\n\n{MEASURED[content.history[-1].measured]}",
        f"## History\n\n{history_table(content.history)}",
        f"## What is stored\n\n{stored(content)}",
        f"## Use\n\n{USE.format(folder='MODEL')}",
    ]
    return METADATA + "\n" + "\n\n".join(sections) + "\n"


def summary(content: Content) -> str:
    """What it is, in a few sentences."""
    learner, latest = content.learner, content.history[-1]
    start = f"pretrained ({learner.started_from.split(',')[0]})" if learner.started_from else "trained from scratch"
    if learner.started_from and learner.method.objectives:
        start += " and trained further"
    trained = f", trained on {learner.method.formula}" if learner.method.objectives else ""
    accuracy = "" if latest.accuracy is None else f" Mean accuracy {100 * latest.accuracy:.1f} % ({latest.measured})."
    return (
        f"Made with classgrow: method {learner.method.name}{trained}, rule "
        f"{learner.method.rule.title}, network {learner.setup.network}, {start}.{accuracy} Photos that are far from "
        "all classes are answered with none of them; look-alikes of a class will be missed."
    )


def class_table(content: Content) -> str:
    latest = content.history[-1]
    learned = {name: version.number for version in reversed(content.history) for name in version.new}
    lines = ["| class | since version | photos | before | now |", "|---|---:|---:|---:|---:|"]
    for name in content.classes:
        cells = (
            cell(name),
            str(learned.get(name, "")),
            str(latest.photos.get(name, "")),
            percent(latest.before.get(name)),
            percent(latest.after.get(name)),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def history_table(history: tuple[Version, ...]) -> str:
    lines = ["| version | when | what | classes | mean accuracy |", "|---:|---|---|---:|---:|"]
    for version in history:
        when = version.when.replace("T", " ").removesuffix("+00:00")
        lines.append(
            f"| {version.number} | {when} UTC | {cell(version.words)} | {len(version.classes)} "
            f"| {percent(version.accuracy)} |"
        )
    return "\n".join(lines)


def stored(content: Content) -> str:
    """Privacy, said plainly."""
    memory = content.learner.state.memory
    if content.exemplars:
        photos = (
            f"**This folder holds {len(content.exemplars)} photos** (`exemplars/`, {content.learner.inputs.size} "
            "pixels and up, with the names of their files) and their features. Whoever gets the folder gets the photos."
        )
    elif len(memory):
        photos = (
            f"This folder holds no photos, but the features of {len(memory)}: numbers from which no photo is shown."
        )
    else:
        photos = "This folder holds no photos and no features of single photos."
    return (
        f"{photos} The statistics of the rules are in `statistics.safetensors`, the network in `model.safetensors`. "
        "Earlier versions (`versions/`) hold the same of their time. `classgrow forget` removes a class from all of it."
    )


def percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def cell(text: str) -> str:
    """Any text inside a table of Markdown: nothing in it is markup."""
    plain = html.escape(" ".join(text.split()), quote=False)
    for letter in "#\\`*_[]|~":
        plain = plain.replace(letter, f"&#{ord(letter)};")
    return plain
