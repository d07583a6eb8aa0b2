"""A card for each method: what it minimises, in which steps, how it answers, how it trains, where we depart.

`python -m classgrow.methods.cards DIR` writes one Markdown file per method of the catalogue.
"""

from __future__ import annotations

import sys
from pathlib import Path

from classgrow.method import Method
from classgrow.methods.catalogue import METHODS
from classgrow.methods.options import options_of
from classgrow.presets import PRESETS
from classgrow.recipes import PROFILES, RECIPES, Recipe, Schedule, method_options, recipe_for

SHOWN = tuple(PRESETS[name] for name in ("cifar", "imagenet", "digits"))
RECIPE_COLUMNS = ("data", "profile", "first phase", "later phases", "fine-tuning", "batch", "weight decay")


def card(method: Method) -> str:
    """The card as Markdown."""
    sections = [
        f"# {method.name}\n\n{source_line(method)}",
        f"## Objective\n\n{objective(method)}",
        f"## Head\n\n{sentence(method.head)} `{method.head}`",
        "## Steps of a phase\n\n" + "\n".join(f"{place}. {step}" for place, step in enumerate(method.steps, 1)),
        f"## Rule\n\n{sentence(method.rule)} `{method.rule.formula}`",
        f"## Recipe\n\n{training(method)}",
        "## Where we depart, and why\n\n" + departures(method),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def training(method: Method) -> str:
    """Its recipes, and how to read them."""
    if not method.objectives:
        return "Nothing is trained, so there is none."
    return (
        f"{recipe_table(method)}\n\nSGD with momentum {momentum(method)}. `60 × 0.1 (40, 50 → × 0.1)` "
        "reads: 60 epochs, learning rate 0.1, multiplied by 0.1 after 40 and after 50 of them."
    )


def source_line(method: Method) -> str:
    """Title, authors and year of the paper, as far as there is one."""
    source = method.source
    if not source.title:
        return "No paper of its own."
    known = [source.authors, str(source.year) if source.year else ""]
    details = ", ".join(text for text in known if text)
    return f"{source.title}{f' ({details})' if details else ''}."


def objective(method: Method) -> str:
    """The formula, then those of data for which it is given other numbers, and what the letters mean."""
    others: dict[str, list[str]] = {}
    for name, preset in PRESETS.items():
        if method.name in METHODS and (options := method_options(method.name, name)):
            others.setdefault(METHODS[method.name](**options).formula, []).append(preset.title)
    others.pop(method.formula, None)
    if not method.objectives:
        return "None: nothing is trained."
    lines = [f"    {method.formula}", *(f"On {' and '.join(data)}:\n\n    {text}" for text, data in others.items())]
    notation = (
        "Notation: a logits, y labels, f features, w embeddings of classes, d squared distance between unit f and "
        "unit w; * marks the network before this phase."
    )
    if "BCE_≥" in " ".join(lines):
        notation = notation.replace(";", "; BCE a mean over outputs, BCE_≥100 over 100 of them at least;")
    return "\n\n".join((*lines, notation))


def sentence(part: object) -> str:
    """What a part says of itself in its first line."""
    text = (type(part).__doc__ or "").strip().split("\n\n")[0]
    return " ".join(text.split())


def recipe_table(method: Method) -> str:
    """The method's training on every preset, in every profile; options that change with the data below."""
    rows: list[tuple[str, ...]] = [RECIPE_COLUMNS, ("---",) * len(RECIPE_COLUMNS)]
    for preset in SHOWN:
        for profile in PROFILES:
            rows.append((preset.title, profile, *numbers(recipe_for(method.recipe, preset.name, profile))))
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    lines = option_lines(method.name)
    return table + ("\n\nOptions, each NAME=NUMBER: " + "; ".join(lines) + "." if lines else "")


def option_lines(name: str) -> list[str]:
    """The numbers that a method of ours can be given, then those that change with the data."""
    own = options_of(METHODS.get(name))
    everywhere = [f"{option} = {value:g}" for option, value in own.items()]
    return everywhere + [
        f"{preset.title}: {option} = {value:g}"
        for preset in SHOWN
        for option, value in method_options(name, preset.name).items()
        if value != own.get(option)
    ]


def numbers(recipe: Recipe) -> tuple[str, ...]:
    """One row of the recipe table."""
    spared = "" if recipe.decay == "all" else " (not on biases)"
    dropped = ", incomplete last one dropped" if recipe.drop_last else ""
    return (
        schedule_text(recipe.first),
        schedule_text(recipe.later),
        schedule_text(recipe.fine_tune) + least_updates(recipe),
        f"{recipe.batch_size}{dropped}",
        f"{recipe.weight_decay:g}{spared}",
    )


def schedule_text(schedule: Schedule | None) -> str:
    """60 × 0.1 (40, 50 → × 0.1), or 21 × 1 (linear)"""
    if schedule is None:
        return "–"
    if schedule.shape != "steps":
        return f"{schedule.epochs} × {schedule.lr:g} ({schedule.shape})"
    drops = ", ".join(str(drop) for drop in schedule.drops)
    return f"{schedule.epochs} × {schedule.lr:g} ({drops} → × {schedule.factor:g})"


def least_updates(recipe: Recipe) -> str:
    return f", at least {recipe.fine_tune_updates} updates" if recipe.fine_tune_updates else ""


def momentum(method: Method) -> str:
    return f"{next(iter(RECIPES[method.recipe].values())).momentum:g}"


def departures(method: Method) -> str:
    """One line each; an honest word where there is none."""
    return "\n".join(f"- {text}" for text in method.source.departures) or "- Nothing to declare."


def write_cards(folder: Path) -> list[Path]:
    """One NAME.md for each method of the catalogue."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, factory in METHODS.items():
        path = folder / f"{name}.md"
        path.write_text(card(factory()), encoding="utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: python -m classgrow.methods.cards DIR")
    print(f"{len(write_cards(Path(sys.argv[1])))} cards written to {sys.argv[1]}")
