"""A model of photos: learned, extended, asked, forgotten, renamed, rolled back, moved, damaged."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

import classgrow
from classgrow.errors import ClassgrowError
from classgrow.parts.ridge import ridge_weights
from classgrow.photos.folder import beside, one_writer
from classgrow.photos.forgetting import Traces, left_in
from classgrow.photos.model import PhotoModel, Prediction
from classgrow.photos.saved import read_current, sha256
from classgrow.progress import Silent

NewModel = Callable[..., PhotoModel]


def load(folder: Path) -> PhotoModel:
    return classgrow.load(folder, progress=Silent())  # type: ignore[no-any-return] # it is


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory, paint, new_model) -> Path:  # type: ignore[no-untyped-def]
    """A folder with a model of two versions and the photos it was made of."""
    root: Path = tmp_path_factory.mktemp("taught")
    model = new_model(root / "model")
    model.learn(paint(root / "one", {"red": 8, "green": 8}))
    model.learn(paint(root / "two", {"blue": 8, "red": 2}, seed=1))
    paint(root / "test", {"red": 3, "green": 3, "blue": 3}, seed=7)
    return root


@pytest.fixture
def copy(taught: Path, tmp_path: Path) -> Path:
    shutil.copytree(taught, tmp_path / "copy")
    return tmp_path / "copy"


def names(model: PhotoModel, photos: Path) -> list[str | None]:
    found = model.predict(photos)
    assert isinstance(found, list)
    return [one.name for one in found]


def test_learned_in_two_calls(taught: Path) -> None:
    model = load(taught / "model")
    assert model.classes == ["green", "red", "blue"]
    one, two = model.history
    assert (one.number, one.new, one.photos) == (1, ("green", "red"), {"green": 8, "red": 8})
    assert (two.number, two.new, two.photos) == (2, ("blue",), {"green": 8, "red": 10, "blue": 8})
    assert two.words == "10 photos: 1 new class (blue); more of red"
    assert one.measured == two.measured == "cross-fitted"
    assert two.before == one.after and set(two.after) == {"red", "green", "blue"}
    assert min(two.after.values()) > 0.8
    assert model.versions == [1] and len(model.exemplars) == 26
    assert [one.name for one in sorted((taught / "model").iterdir())] == [
        *("README.md", "accuracy.png", "config.json", "contact_sheet.png", "exemplars", "history.json"),
        *("model.safetensors", "preprocessor_config.json", "statistics.safetensors", "versions"),
    ]


def test_answers_come_with_probabilities_and_the_nearest_photos(taught: Path) -> None:
    model = load(taught / "model")
    one = model.predict(taught / "test" / "red" / "7-0.png")
    assert isinstance(one, Prediction)
    assert one.name == "red" and one.ranking[0] == ("red", one.probability) and not one.unknown
    assert sum(probability for _, probability in one.ranking) == pytest.approx(1)
    assert one.nearest[0].name == "red" and one.nearest[0].file is not None and one.nearest[0].file.is_file()
    assert one.nearest[0].source.startswith("red/") and one.nearest[0].similarity <= 1.0001
    again = model.predict(taught / "one" / "red" / "0-0.png")
    assert isinstance(again, Prediction)
    assert again.nearest[0].source == "red/0-0.png" and again.nearest[0].similarity == pytest.approx(1, abs=1e-5)
    right = [
        a == b for a, b in zip(names(model, taught / "test"), ["blue"] * 3 + ["green"] * 3 + ["red"] * 3, strict=True)
    ]
    assert sum(right) >= 7


def test_in_two_calls_or_at_once_is_the_same(taught: Path, tmp_path: Path, new_model: NewModel) -> None:
    """Frozen features and sums that add up: the weights agree to 1e-5 and the answers entirely."""
    shutil.copytree(taught / "one", tmp_path / "all")
    shutil.copytree(taught / "two", tmp_path / "all", dirs_exist_ok=True)
    at_once, stepwise = new_model(tmp_path / "model"), load(taught / "model")
    at_once.learn(tmp_path / "all")
    assert at_once.classes == ["blue", "green", "red"]
    scores = at_once.learner.scores(at_once.read(taught / "test").pixels)
    others = stepwise.learner.scores(stepwise.read(taught / "test").pixels)
    order = [stepwise.classes.index(name) for name in at_once.classes]
    assert np.abs(scores - others[:, order]).max() <= 1e-5 * np.abs(scores).max()


def test_balanced_is_a_ridge_whose_strength_the_first_call_decides(tmp_path: Path, paint, new_model: NewModel) -> None:  # type: ignore[no-untyped-def]
    """After the second call it is the ridge of all photos at once under that strength; saved and loaded with it."""
    model = new_model(tmp_path / "model", preset="balanced")
    model.learn(paint(tmp_path / "one", {"red": 8, "green": 8}))
    first = float(model.learner.state.fitted["ridge"]["strength"])
    model.learn(paint(tmp_path / "two", {"blue": 8, "red": 4}, seed=1))
    again = load(tmp_path / "model")
    assert again.learner.method.rule.name == "ridge" and again.settings.preset == "balanced"
    fitted = again.learner.state.fitted["ridge"]
    assert float(fitted["strength"]) == first and len(fitted["rows"]) == 28
    order = torch.randperm(28)
    at_once = ridge_weights(fitted["rows"][order], fitted["owner"][order], 3, fitted["projection"], first)
    assert torch.allclose(at_once, fitted["weight"], atol=1e-9)
    assert names(again, tmp_path / "one") == ["green"] * 8 + ["red"] * 8
    again.forget("red")
    assert len(load(tmp_path / "model").learner.state.fitted["ridge"]["rows"]) == 16


def test_a_loaded_model_is_as_sure_as_before(taught: Path, tmp_path: Path, new_model: NewModel) -> None:
    """Temperature, threshold and distances are those of the model that learned, to the last digit."""
    learned = new_model(tmp_path / "model")
    learned.learn(taught / "one")
    learned.learn(taught / "two")
    loaded = load(tmp_path / "model")
    asked = [one.learner.estimating for one in (learned, loaded)]
    rule = learned.learner.method.rule
    assert asked[0].temperature(rule) == asked[1].temperature(rule) != 1
    thresholds = [one.unknown() for one in asked]
    assert thresholds[0] is not None and thresholds[1] is not None
    assert 0 < float(thresholds[0]["threshold"]) == float(thresholds[1]["threshold"]) < float("inf")
    first, second = (model.predict(taught / "test") for model in (learned, loaded))
    assert isinstance(first, list) and isinstance(second, list)
    assert [(one.ranking, one.distance, one.unknown) for one in first] == [
        (one.ranking, one.distance, one.unknown) for one in second
    ]


def test_elsewhere_it_predicts_the_same(copy: Path, tmp_path: Path) -> None:
    """Moved, and asked by another process in another working folder."""
    here = [one.ranking for one in load(copy / "model").predict(copy / "test")]  # type: ignore[union-attr]
    moved = tmp_path / "else where"
    shutil.move(copy / "model", moved)
    program = (
        "import sys, json, classgrow; m = classgrow.load(sys.argv[1]); "
        "print(json.dumps([p.ranking for p in m.predict(sys.argv[2])]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(moved), str(copy / "test")], cwd="/", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert [tuple(map(tuple, one)) for one in json.loads(done.stdout)] == here


def test_forgetting_leaves_nothing(copy: Path) -> None:
    model = load(copy / "model")
    photos = {one.file for one in model.exemplars if one.label == "red"}
    features = model.learner.state.memory.features
    assert features is not None
    red = features[model.learner.state.memory.labels == model.classes.index("red")]
    done = model.forget("red")
    assert done.removed_versions == (1, 2) and len(done.checked) == 5
    assert set(done.before) == set(done.after) == {"green", "blue"}
    again = load(copy / "model")
    assert again.classes == ["green", "blue"] and again.versions == []
    everything = [path for path in (copy / "model").rglob("*") if path.is_file()]
    assert not photos & {path.name for path in everything}
    texts = [path.read_text("utf-8") for path in everything if path.suffix in (".json", ".md")]
    assert len(texts) == 5 and not [text for text in texts if "red" in text.replace("required", "").split()]
    assert not [text for text in texts if '"red"' in text or "red/" in text or "| red |" in text]
    kept = load_file(copy / "model" / "statistics.safetensors")["memory.features"]
    assert not (kept[:, None] == red[None]).all(2).any()
    assert set(names(again, copy / "test")) <= {"green", "blue", None}


def test_a_trace_that_is_left_stops_the_forgetting(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classgrow.photos.history.Version.without", lambda version, name: version)
    before = (copy / "model" / "config.json").read_bytes()
    with pytest.raises(ClassgrowError, match=r"the name in the history is left .*nothing was changed"):
        load(copy / "model").forget("red")
    assert (copy / "model" / "config.json").read_bytes() == before
    assert load(copy / "model").classes == ["green", "red", "blue"]
    assert not beside(copy / "model", "new").exists()


def test_every_trace_is_found_where_it_is(copy: Path) -> None:
    """Looked for in a model that still knows the class; and of a class that nobody knows there is none."""
    content = read_current(copy / "model")
    traces = Traces.of(content, "red")
    assert (len(traces.files), len(traces.features)) == (10, 10)
    found = list(dict.fromkeys(left_in(copy / "model", traces)))
    assert found[:4] == ["the name", "the name in the history", "an entry in the index of photos", "a photo"]
    assert {"a feature in memory.features", "a feature in fitted.discriminant.rows"} <= set(found)
    assert list(left_in(copy / "model", Traces("nobody", frozenset(), traces.features[:0]))) == []


def test_what_cannot_be_forgotten(copy: Path, tmp_path: Path, paint, new_model: NewModel) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ClassgrowError, match=r"knows no class 'rde'\. Did you mean 'red'"):
        load(copy / "model").forget("rde")
    single = new_model(tmp_path / "single")
    learned = single.learn(paint(tmp_path / "photos", {"red": 1}))
    assert learned.after == {} and learned.version.measured == "none"
    assert "accuracy cannot be measured there" in learned.notes[1]
    assert names(single, tmp_path / "photos") == ["red"]
    one = single.predict(tmp_path / "photos" / "red" / "0-0.png")
    assert isinstance(one, Prediction) and (one.unknown, one.distance) == (None, None)  # one photo tells no distance
    with pytest.raises(ClassgrowError, match="the only class"):
        single.forget("red")


def test_renaming_and_going_back(copy: Path) -> None:
    model = load(copy / "model")
    assert model.rename("red", " scarlet ").number == 3
    assert model.classes == ["green", "scarlet", "blue"] and model.history[-1].photos["scarlet"] == 10
    assert {one.label for one in model.exemplars} == {"green", "scarlet", "blue"}
    for wrong in ("blue", ".x", ""):
        with pytest.raises(ClassgrowError):
            model.rename("green", wrong)
    version = model.rollback(1)
    assert (version.number, version.classes, version.words) == (4, ("green", "red"), "back to version 1")
    again = load(copy / "model")
    assert again.classes == ["green", "red"] and again.versions == [1, 2, 3]
    assert again.rollback().classes == ("green", "scarlet", "blue")  # the version before
    with pytest.raises(ClassgrowError, match=r"no earlier version 9 .*1, 2, 3, 4"):
        again.rollback(9)


def test_only_so_many_earlier_versions_are_kept(tmp_path: Path, paint, new_model: NewModel) -> None:  # type: ignore[no-untyped-def]
    model = new_model(tmp_path / "model", keep=1)
    for seed, name in enumerate(("red", "green", "blue")):
        model.learn(paint(tmp_path / name, {name: 2}, seed=seed))
    assert model.versions == [2] and len(model.history) == 3
    assert (tmp_path / "model" / "versions" / "2" / "config.json").is_file()


def test_without_photos_it_answers_and_learns_on(tmp_path: Path, paint, new_model: NewModel) -> None:  # type: ignore[no-untyped-def]
    model = new_model(tmp_path / "model", keep_photos=False)
    model.learn(paint(tmp_path / "one", {"red": 6, "green": 6}))
    model.learn(paint(tmp_path / "two", {"blue": 6}))
    assert not (tmp_path / "model" / "exemplars").exists()
    assert "holds no photos" in (tmp_path / "model" / "README.md").read_text("utf-8")
    again = load(tmp_path / "model")
    assert names(again, tmp_path / "two") == ["blue"] * 6
    found = again.predict(tmp_path / "two" / "blue" / "0-0.png")
    assert isinstance(found, Prediction) and found.nearest[0].name == "blue" and found.nearest[0].file is None
    again.forget("green")
    assert load(tmp_path / "model").classes == ["red", "blue"]


def test_two_hundred_classes(tmp_path: Path, new_model: NewModel) -> None:
    draws = np.random.default_rng(0)
    grounds = draws.integers(0, 255, (200, 1, 1, 3))
    pixels = (grounds + draws.integers(-9, 9, (200, 12, 12, 3))).clip(0, 255).astype(np.uint8)
    model = new_model(tmp_path / "model")
    learned = model.learn(pixels, [f"class {number}" for number in range(200)])
    assert len(learned.new) == len(model.classes) == 200
    found = load(tmp_path / "model").predict(pixels[:20])
    assert isinstance(found, list) and len(found) == 20


def test_a_photo_that_cannot_be_read(copy: Path) -> None:
    model = load(copy / "model")
    (copy / "torn.png").write_bytes(b"no")
    with pytest.raises(ClassgrowError, match=r"torn\.png cannot be used: not an image"):
        model.predict(copy / "torn.png")
    with pytest.warns(UserWarning, match=r"1 photos are left out: .*torn\.png"):
        found = model.predict([copy / "torn.png", copy / "test" / "red" / "7-0.png"])
    assert isinstance(found, list) and len(found) == 1


# --- what is refused -------------------------------------------------------------------------------------------------


def rewrite(folder: Path, name: str, content: bytes) -> None:
    """Another content with a checksum that fits: damage that only a check of values can find."""
    (folder / name).write_bytes(content)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["files"][name] = sha256(content)
    (folder / "config.json").write_text(json.dumps(config), "utf-8")


@pytest.mark.parametrize(
    "name", ["model.safetensors", "statistics.safetensors", "history.json", "exemplars/index.json"]
)
def test_a_flipped_bit_is_found(copy: Path, name: str) -> None:
    content = bytearray((copy / "model" / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / "model" / name).write_bytes(content)
    with pytest.raises(ClassgrowError, match=rf"is damaged \({name}\).*rollback"):
        load(copy / "model")


def test_a_damaged_model_can_go_back(copy: Path) -> None:
    (copy / "model" / "model.safetensors").unlink()
    with pytest.raises(ClassgrowError, match=r"model\.safetensors is missing"):
        load(copy / "model")
    assert PhotoModel(copy / "model", progress=Silent()).rollback().classes == ("green", "red")
    assert load(copy / "model").classes == ["green", "red"]


def test_values_that_do_not_fit_are_refused(copy: Path) -> None:
    folder = copy / "model"
    tensors = load_file(folder / "statistics.safetensors")
    for name, change in (
        ("memory.labels", lambda value: value + 5),
        ("memory.labels", lambda value: value[1:]),
        ("memory.features", lambda value: value * float("nan")),
        ("fitted.discriminant.weight", lambda value: value / 0),
    ):
        save_file({**tensors, name: change(tensors[name]).contiguous()}, folder / "changed")
        rewrite(folder, "statistics.safetensors", (folder / "changed").read_bytes())
        with pytest.raises(ClassgrowError, match="is damaged"):
            load(folder)
    network = load_file(folder / "model.safetensors")
    network["network.backbone.conv1.weight"] = torch.zeros(3, 3)
    save_file(network, folder / "changed")
    rewrite(folder, "model.safetensors", (folder / "changed").read_bytes())
    with pytest.raises(ClassgrowError):
        load(folder)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is damaged"),
        ("[]", "is not a model of photos"),
        ('{"kind": "classgrow bundle"}', "is not a model of photos"),
        ('{"kind": "classgrow model", "format": 99}', "another version of classgrow"),
        ('{"kind": "classgrow model", "format": 1}', "is damaged"),
    ],
)
def test_a_foreign_config_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ClassgrowError, match=says):
        load(tmp_path)


def test_what_is_no_model(tmp_path: Path, paint, new_model: NewModel) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ClassgrowError, match="There is no model"):
        load(tmp_path / "gone")
    with pytest.raises(ClassgrowError, match="is not a model"):
        load(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(ClassgrowError, match=r"holds something else \(letter\.txt\)"):
        new_model(tmp_path / "other").learn(paint(tmp_path / "photos", {"red": 2}))
    assert (tmp_path / "other" / "letter.txt").read_text() == "mine"


def test_a_model_among_its_photos_is_refused(tmp_path: Path, paint, new_model: NewModel) -> None:  # type: ignore[no-untyped-def]
    photos = paint(tmp_path / "photos", {"red": 2, "green": 2})
    for place in (photos / "model", photos / "red" / "model", photos):
        for call in (new_model(place).learn, new_model(place).preview):
            with pytest.raises(ClassgrowError, match=r"would lie among the photos in .*: choose a folder elsewhere"):
                call(photos)
    assert sorted(path.name for path in photos.iterdir()) == ["green", "red"]
    beside_them = new_model(tmp_path / "photos model")
    assert beside_them.learn(photos).new == {"green": 2, "red": 2}


def test_a_kept_photo_that_was_changed_is_found_before_learning(copy: Path, paint) -> None:  # type: ignore[no-untyped-def]
    file = next((copy / "model" / "exemplars").glob("*.png"))
    Image.new("RGB", (32, 32)).save(file)
    assert load(copy / "model").classes  # answering does not need it
    with pytest.raises(ClassgrowError, match=r"kept photo .* is missing or damaged"):
        load(copy / "model").learn(paint(copy / "more", {"white": 2}))
    assert load(copy / "model").classes == ["green", "red", "blue"]


def test_one_writer_at_a_time(copy: Path) -> None:
    model = load(copy / "model")
    with one_writer(copy / "model"), pytest.raises(ClassgrowError, match="being changed by another process"):
        model.rename("red", "scarlet")
    assert model.rename("red", "scarlet").number == 3
    assert not beside(copy / "model", "lock").exists()


def test_a_folder_left_aside_is_put_back(copy: Path) -> None:
    """As a crash between the two renames leaves it, where folders cannot be exchanged in one step."""
    (copy / "model").rename(beside(copy / "model", "before"))
    assert load(copy / "model").classes == ["green", "red", "blue"]


def test_without_an_exchange_of_folders_a_change_takes_place_too(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("classgrow.photos.folder.exchange_at_once", lambda one, other: False)
    load(copy / "model").rename("red", "scarlet")
    assert "scarlet" in load(copy / "model").classes
    assert sorted(path.name for path in copy.iterdir()) == ["model", "one", "test", "two"]


def test_the_card_says_what_is_inside(taught: Path) -> None:
    text = (taught / "model" / "README.md").read_text("utf-8")
    assert text.startswith("---\npipeline_tag: image-classification\n")
    assert "**This folder holds 26 photos**" in text and "| red | 1 | 10 |" in text
    for name in ("accuracy.png", "contact_sheet.png"):
        with Image.open(taught / "model" / name) as picture:
            assert f"]({name})" in text and min(picture.size) > 150
    config = json.loads((taught / "model" / "config.json").read_text("utf-8"))
    assert config["id2label"] == {"0": "green", "1": "red", "2": "blue"} and config["num_labels"] == 3


def test_names_with_markup_stay_names(tmp_path: Path, paint, new_model: NewModel) -> None:  # type: ignore[no-untyped-def]
    name = "a|b <i>*x* `y` [z](w)"
    new_model(tmp_path / "model").learn(paint(tmp_path / "photos", {name: 3, "💜 two": 3}))
    text = (tmp_path / "model" / "README.md").read_text("utf-8")
    assert "<i>" not in text and "a&#124;b &lt;i&gt;&#42;x&#42; &#96;y&#96; &#91;z&#93;(w)" in text
    assert load(tmp_path / "model").classes == [name, "💜 two"]


def test_a_class_of_another_name_can_be_forgotten(
    paint: Callable[..., Path], new_model: Callable[..., PhotoModel], tmp_path: Path
) -> None:
    """With its former name, and the versions that knew it by that."""
    model = new_model(tmp_path / "model")
    model.learn(paint(tmp_path / "first", {"red": 5, "green": 5}))
    model.learn(paint(tmp_path / "second", {"blue": 5}))
    model.rename("green", "lime")
    done = model.forget("lime")
    assert model.classes == ["red", "blue"] and done.removed_versions == (1, 2, 3)
    assert [version.classes for version in model.history] == [
        ("red",),
        ("red", "blue"),
        ("red", "blue"),
        ("red", "blue"),
    ]
    texts = [path.read_bytes() for path in (tmp_path / "model").rglob("*") if path.is_file()]
    assert not any(name in text for text in texts for name in (b"green", b"lime"))
