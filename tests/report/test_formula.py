"""Formulas as HTML: every symbol of the text is still there, in its place."""

from __future__ import annotations

import re

import pytest

from classgrow.methods.catalogue import build_method, known_methods
from classgrow.parts.classification import BinaryCrossEntropy
from classgrow.parts.distillation import FeatureGraph
from classgrow.report.formula import symbols, typeset


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("BCE(σ(a), y)", "BCE(σ(<i>a</i>), <i>y</i>)"),
        ("√(old/new)", '√<span class="root">old/new</span>'),
        ("Σ_old (d − d*)²", "Σ<sub>old</sub> (<i>d</i> − <i>d</i><sup>∗</sup>)²"),
        ("⟨f̄*, f̄⟩", "⟨<i>f̄</i><sup>∗</sup>, <i>f̄</i>⟩"),
        ("argmin_c ‖μ_c − f̄(x)‖", "argmin<sub>c</sub> ‖<i>μ</i><sub>c</sub> − <i>f̄</i>(<i>x</i>)‖"),
        ("H(softmax(a*/2))", "H(softmax(<i>a</i><sup>∗</sup>/2))"),
        ("BCE_≥100(σ(a), y)", "BCE<sub>≥100</sub>(σ(<i>a</i>), <i>y</i>)"),
        ("(d_aug − d_aug*)²", "(<i>d</i><sub>aug</sub> − <i>d</i><sub>aug</sub><sup>∗</sup>)²"),
        ("<b> & more", "&lt;<i>b</i>&gt; &amp; more"),
    ],
)
def test_typeset(text: str, html: str) -> None:
    assert typeset(text) == html


@pytest.mark.parametrize("name", sorted(known_methods()))
def test_no_symbol_of_a_method_is_lost(name: str) -> None:
    """Without its marks the HTML is the text again, but for the brackets of roots and the bars of indices."""
    formula = build_method(name).formula
    plain = re.sub(r"<[^>]*>", "", typeset(formula)).replace("∗", "*")
    assert plain == re.sub(r"√\(([^()]*)\)", r"√\1", formula).replace("_", "")


def test_symbols_are_explained_where_they_stand() -> None:
    explained = {str(symbol) for symbol, _ in symbols("BCE(σ(a), y) + Σ_old (d − d*)²", "argmax_c a_c(x)")}
    assert explained == {"<sup>∗</sup>", "<i>a</i>", "<i>y</i>", "σ", "<i>d</i>"}
    assert symbols("nothing known") == []


def test_settings_in_a_formula_are_explained_too() -> None:
    def explained(formula: str) -> dict[str, str]:
        return {str(symbol): meaning for symbol, meaning in symbols(formula)}

    assert explained(BinaryCrossEntropy(outputs=100).formula)["BCE<sub>≥n</sub>"] == "averaged over n outputs at least"
    assert "Σ<sub>c</sub>" in explained(BinaryCrossEntropy(class_sum=True).formula)
    augmented = explained(FeatureGraph(augmented=True).formula)
    assert "<i>d</i><sub>aug</sub>" in augmented and "<i>d</i>" not in augmented
