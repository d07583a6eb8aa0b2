"""A spec fills its own gaps, has one identity, and refuses nonsense with the way out."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from classgrow.errors import ClassgrowError
from classgrow.recipes import recipe_for
from classgrow.specs import numerics
from classgrow.specs.orders import published_orders, resolve_order
from classgrow.specs.spec import ResolvedSpec, Spec, command, identity, phases_to_run, resolve

CIFAR = (32, 32, 3)


def resolved(**options: Any) -> ResolvedSpec:
    return resolve(Spec.from_options(options), 100, "fgp", CIFAR)


def test_the_default_is_the_papers_main_setting() -> None:
    run = resolved()
    assert (run.dataset, run.method, run.kind, run.profile) == ("cifar100", "fgp", "cifar", "official")
    assert (run.memory, run.memory_per_class, run.sizes) == (2000, None, (10,) * 10)
    assert run.order == published_orders()["0"]
    assert (run.total_classes, run.seed, run.selection, run.numerics) == (100, 1, "herding", 1)
    assert run.recipe == recipe_for("fgp", "cifar")
    assert (run.inputs.size, run.inputs.padding) == (32, 4)


def test_from_fifty_and_uneven_last_phases() -> None:
    assert resolved(first=50).sizes == (50, 10, 10, 10, 10, 10)
    assert resolved(first=50, step=20).sizes == (50, 20, 20, 10)
    assert resolved(first=100).sizes == (100,)


def test_only_the_first_classes_of_the_order() -> None:
    run = resolved(classes=15)
    assert run.order == published_orders()["0"][:15]
    assert (run.sizes, run.total_classes) == ((10, 5), 15)
    assert resolved(classes=5).sizes == (5,)  # the default first phase shrinks with the data


def test_digits_use_their_own_protocol() -> None:
    run = resolve(Spec(dataset="digits", method="lucir"), 10, "lucir", (8, 8, 1))
    assert (run.memory, run.sizes, run.order) == (50, (2,) * 5, tuple(range(10)))
    assert (run.kind, run.options) == ("digits", {"base": 5.0})


def test_a_fixed_number_per_class_replaces_the_total() -> None:
    run = resolved(memory_per_class=20)
    assert (run.memory, run.memory_per_class) == (None, 20)


def test_methods_without_memory_have_none() -> None:
    run = resolve(Spec(method="finetune", memory=5), 100, "plain", CIFAR, keeps_memory=False)
    assert (run.memory, run.memory_per_class) == (None, None)


def test_profile_and_epochs_reach_the_recipe() -> None:
    assert resolved(epochs=7).recipe.first.epochs == 7
    run = resolve(Spec(method="bic", profile="matched"), 100, "bic", CIFAR)
    assert run.recipe.later.epochs == 70


def test_a_learning_rate_and_the_methods_own_numbers_are_part_of_the_run() -> None:
    usual = resolved(memory=200)
    other = resolved(memory=200, lr=0.4, options={"strength": 0.5})
    assert (other.recipe.first.lr, other.recipe.first.lr_at(50)) == pytest.approx((0.4, 0.08))
    assert (usual.options, other.options) == ({}, {"strength": 0.5})
    ids = {identity(resolved(memory=200, **more)) for more in ({}, {"lr": 0.4}, {"options": {"strength": 0.5}})}
    assert len(ids) == 3
    assert identity(resolved(memory=200, lr=2.0)) == identity(usual)  # FGP's own rate, said aloud


def test_equal_specs_are_one_in_a_set() -> None:
    one, other = Spec(options={"base": 1, "margin": 0.5}), Spec(options={"margin": 0.5, "base": 1.0})
    assert one == other and len({one, other, Spec()}) == 2
    assert identity(resolved(options={"base": 1.0})) == identity(resolved(options={"base": 1}))


def test_given_numbers_win_over_those_of_the_data_set() -> None:
    run = resolve(Spec(method="icarl", options={"outputs": 20}), 100, "icarl", CIFAR)
    assert run.options == {"outputs": 20}
    aloud = resolve(Spec(method="lucir", options={"base": 5}), 100, "lucir", CIFAR)
    assert identity(aloud) == identity(resolve(Spec(method="lucir"), 100, "lucir", CIFAR))
    own = resolve(Spec(options={"strength": 0.1}), 100, "fgp", CIFAR, own_options={"strength": 0.1})
    assert identity(own) == identity(resolved())
    assert resolve(Spec(method="icarl"), 100, "icarl", CIFAR).options == {"outputs": 100}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": 37, "classes": 40}, "37 exemplars cannot cover 40 classes: raise `memory` to at least 40."),
        ({"classes": 101}, "lower `classes` to 100"),
        ({"first": 20, "classes": 10}, "lower `first`"),
    ],
)
def test_what_cannot_run_is_refused_when_resolved(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ClassgrowError) as caught:
        resolved(**options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memmory": 10}, "Did you mean 'memory'?"),
        ({"memory": "many"}, "`memory` = 'many' does not fit: give a whole number."),
        ({"memory": 20.5}, "give a whole number."),
        ({"memory": True}, "give a whole number."),
        ({"memory": 0}, "give a whole number of at least 1."),
        ({"seed": -1}, "at least 0."),
        ({"seed": 2**63}, f"below {2**63}."),
        ({"profile": "fair"}, "give 'official', 'matched' or 'fast'."),
        ({"selection": "best"}, "'herding', 'random' or 'closest'"),
        ({"dataset": 3}, "give a word in quotes."),
        ({"lr": 0}, "`lr` = 0 does not fit: give a number above 0."),
        ({"lr": "fast"}, "`lr` = 'fast' does not fit: give a number."),
        ({"lr": float("nan")}, "give a finite number."),
        ({"options": {"strength": "x"}}, "`options.strength` = 'x' does not fit: give a number."),
        ({"options": {"strength": -0.5}}, "give a number of at least 0."),
        ({"options": 3}, "names with numbers"),
        ({"options": {"strength": 10**400}}, "give a number of at most 1e+09."),
        ({"memory": 100, "memory_per_class": 5}, "contradict each other: give one of them."),
    ],
)
def test_wrong_options_are_told_in_one_sentence(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ClassgrowError) as caught:
        Spec.from_options(options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_none_counts_as_not_given() -> None:
    assert Spec.from_options({"memory": None, "seed": None, "method": "bic"}) == Spec(method="bic")


def test_a_spec_cannot_change() -> None:
    with pytest.raises(ValidationError):
        Spec().seed = 2


def test_toml_with_overrides(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('method = "bic"\nmemory = 1000\norder = 3\n')
    assert Spec.from_toml(file) == Spec(method="bic", memory=1000, order="3")
    assert Spec.from_toml(file, {"memory": 500, "seed": None}).memory == 500
    more = tmp_path / "more.toml"
    more.write_text("lr = 1\n[options]\nstrength = 0.5\n")
    assert Spec.from_toml(more) == Spec(lr=1.0, options={"strength": 0.5})
    both = Spec.from_toml(more, {"options": {"margin": 0.2}})
    assert both.options == {"strength": 0.5, "margin": 0.2}
    assert Spec.from_toml(file, {"memory_per_class": 20}) == Spec(method="bic", memory_per_class=20, order="3")


def test_toml_finds_the_order_file_beside_it(tmp_path: Path) -> None:
    (tmp_path / "order.txt").write_text("2 0 1")
    file = tmp_path / "run.toml"
    file.write_text('order = "order.txt"\n')
    assert resolve(Spec.from_toml(file), 3, "fgp", CIFAR).order == (2, 0, 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [("method = fgp\n", "is not valid TOML"), ('methd = "fgp"\n', "Did you mean 'method'?"), ("[run]\n", "'run'")],
)
def test_a_bad_toml_file_is_told(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "run.toml"
    file.write_text(content)
    with pytest.raises(ClassgrowError) as caught:
        Spec.from_toml(file)
    assert message in str(caught.value)


def test_a_missing_toml_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ClassgrowError, match=r"no settings file .*gone\.toml"):
        Spec.from_toml(tmp_path / "gone.toml")


def test_identity_is_the_same_for_the_same_numbers() -> None:
    same = [resolved(), resolved(memory=2000, first=10, step=10, order="0"), resolved(phases=3)]
    assert len({identity(run) for run in same}) == 1
    assert len(identity(same[0])) == 12
    assert int(identity(same[0]), 16) >= 0


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"memory": 1000},
        {"memory_per_class": 20},
        {"first": 50},
        {"order": "1"},
        {"epochs": 7},
        {"profile": "matched", "epochs": 69},
        {"classes": 50},
        {"selection": "random"},
        {"method": "icarl"},
        {"dataset": "imagenet100"},
    ],
)
def test_identity_changes_with_everything_that_decides_the_numbers(change: dict[str, Any]) -> None:
    assert identity(resolved(**change)) != identity(resolved())


def test_identity_changes_with_the_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    before = identity(resolved())
    monkeypatch.setattr(numerics, "NUMERICS_VERSION", 2)
    assert identity(resolved()) != before


def test_identity_changes_with_the_arithmetic_of_its_own_method_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {method: identity(resolved(method=method)) for method in ("fgp", "icarl")}
    monkeypatch.setitem(numerics.OF_METHOD, "icarl", 5)
    assert identity(resolved(method="icarl")) != before["icarl"]
    assert identity(resolved(method="fgp")) == before["fgp"]


def test_an_order_file_and_the_list_it_holds_are_one_identity(tmp_path: Path) -> None:
    file = tmp_path / "order.json"
    file.write_text(json.dumps(list(published_orders()["2"])))
    assert identity(resolved(order=str(file))) == identity(resolved(order="2"))


def test_resolved_specs_are_json() -> None:
    content = resolved().to_json()
    assert json.loads(json.dumps(content)) == content
    assert content["recipe"]["first"]["drops"] == [50, 64]


def test_phases_to_run() -> None:
    assert phases_to_run(Spec(), resolved()) == 10
    assert phases_to_run(Spec(phases=3), resolved()) == 3
    with pytest.raises(ClassgrowError, match="only 10 phases"):
        phases_to_run(Spec(phases=11), resolved())


def test_the_command_repeats_the_run() -> None:
    spec = Spec(method="bic", memory_per_class=20, order="my orders/first.json", phases=2)
    assert command(spec) == (
        "classgrow run --dataset cifar100 --method bic --memory-per-class 20 "
        "--order 'my orders/first.json' --seed 1 --phases 2"
    )
    words = shlex.split(command(spec))[2:]
    names = [word.removeprefix("--").replace("-", "_") for word in words[::2]]
    values = [int(word) if word.isdigit() else word for word in words[1::2]]
    assert Spec.from_options(dict(zip(names, values, strict=True))) == spec


def test_the_command_names_a_learning_rate_and_options() -> None:
    spec = Spec(method="lucir", lr=0.05, options={"base": 2.5, "hardest": 1})
    assert command(spec) == (
        "classgrow run --dataset cifar100 --method lucir --seed 1 --lr 0.05 --option base=2.5 --option hardest=1"
    )


def test_seed_1993_is_the_order_the_field_uses() -> None:
    order = resolve_order("seed:1993", 100)
    assert order[:11] == (68, 56, 78, 8, 23, 84, 90, 65, 74, 76, 40)
    assert sorted(order) == list(range(100))


def test_the_published_orders_are_permutations() -> None:
    assert published_orders()["0"][:3] == (53, 37, 65)
    assert all(sorted(order) == list(range(100)) for order in published_orders().values())
    assert len(set(published_orders().values())) == 5


def test_order_4_is_order_3_interleaved() -> None:
    """For parity 0 and 1, element k of every second block of five."""
    blocks = [published_orders()["3"][start : start + 5] for start in range(0, 100, 5)]
    expected = [block[k] for parity in (0, 1) for k in range(5) for block in blocks[parity::2]]
    assert list(published_orders()["4"]) == expected


@pytest.mark.parametrize("content", ["[2, 0, 1]", "2 0 1", "2\n0\n1\n"])
def test_order_files(tmp_path: Path, content: str) -> None:
    file = tmp_path / "order"
    file.write_text(content)
    assert resolve_order(str(file), 3) == (2, 0, 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("0 1", "has 2 ids for 3 classes"),
        ("0 1 1", "names class 1 twice"),
        ("0 1 3", "names class 3, which the data lack"),
        ("cat dog", "cannot be read"),
        ("[0, 1.5]", "cannot be read"),
        ("[0, 1", "cannot be read"),
    ],
)
def test_bad_order_files_are_told(tmp_path: Path, content: str, message: str) -> None:
    file = tmp_path / "order"
    file.write_text(content)
    with pytest.raises(ClassgrowError) as caught:
        resolve_order(str(file), 3)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "a list of 100 classes and the data have 10"),
        ("seed:x", "seed:1993"),
        ("seed:4294967296", "seed:1993"),
        ("5", "neither 0 to 4"),
    ],
)
def test_bad_order_names_are_told(text: str, message: str) -> None:
    with pytest.raises(ClassgrowError) as caught:
        resolve_order(text, 10)
    assert message in str(caught.value)


def test_other_images_under_the_same_name_are_another_run() -> None:
    spec = Spec(dataset="folder", method="fgp")
    one, other, unnamed = (resolve(spec, 4, "fgp", (84, 84, 3), data=data) for data in ("a1", "b2", ""))
    assert len({identity(one), identity(other), identity(unnamed)}) == 3
    assert "data" not in unnamed.to_json() and one.to_json()["data"] == "a1"
