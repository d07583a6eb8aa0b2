"""`classgrow methods`: the catalogue and its cards."""

from __future__ import annotations

from pathlib import Path

import pytest

from classgrow.methods import METHODS, build_method
from classgrow.methods.cards import card, write_cards


def test_the_list_and_a_card(classgrow, check_refused) -> None:  # type: ignore[no-untyped-def]
    listed = classgrow("methods").stdout.splitlines()
    assert listed[:3] == [
        "fgp",
        "  BCE(σ(a), y) + 0.1·√(old/seen)·Σ_old exp(−d*/2)·(d − d*)²",
        "  Class-incremental Learning with Rectified Feature-Graph Preservation, 2020",
    ]
    assert [line for line in listed if not line.startswith(" ")] == list(METHODS)
    check_refused(classgrow("methods", "icrl"), "'icrl'", "Did you mean 'icarl'?")


@pytest.mark.parametrize("name", list(METHODS))
def test_a_card_says_what_the_method_is(name: str) -> None:
    method = build_method(name)
    text = card(method)
    assert text.startswith(f"# {name}\n")
    for heading in ("Objective", "Head", "Steps of a phase", "Rule", "Recipe", "Where we depart, and why"):
        assert f"\n## {heading}\n" in text
    assert (f"    {method.formula}\n" if method.objectives else "None: nothing is trained.") in text
    assert f"{len(method.steps)}. {method.steps[-1]}" in text
    assert all(f"- {departure}" in text for departure in method.source.departures)
    rows = 3 if method.objectives else 0
    assert text.count("| official |") == text.count("| matched |") == text.count("| fast |") == rows


def test_fgp_card_holds_its_recipe() -> None:
    assert "| official | 70 × 2 (50, 64 → × 0.2) | 70 × 2 (50, 64 → × 0.2) | – | 128 | 1e-05 |" in card(
        build_method("fgp")
    )


def test_a_card_shows_the_objective_of_data_with_other_numbers() -> None:
    text = card(build_method("icarl"))
    assert "On CIFAR-100 (17 to 64 pixels) and ImageNet-100 (more than 64 pixels):\n\n    BCE_≥100(" in text
    assert "BCE_≥100 over 100 of them at least" in text
    assert "On " not in card(build_method("fgp")).split("## Head")[0]


def test_the_cards_in_the_documentation_are_current(tmp_path: Path) -> None:
    """Mend with `python -m classgrow.methods.cards docs/methods`."""
    folder = Path(__file__).parents[2] / "docs" / "methods"
    fresh = {path.name: path.read_text() for path in write_cards(tmp_path)}
    assert {path.name: path.read_text() for path in folder.glob("*.md")} == fresh
