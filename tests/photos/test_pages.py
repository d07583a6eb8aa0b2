"""The pages of `check` and `evaluate` in a real browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from classgrow.photos.check_page import MOST_FINDINGS, check_page
from classgrow.photos.checking import SCARCE, Checked, Finding, check
from classgrow.photos.evaluation import evaluate_photos
from classgrow.photos.evaluation_page import evaluation_page
from classgrow.photos.pages import write_page
from tests.photos.painted import painted, small_model

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PHONE, DESKTOP = {"width": 375, "height": 800}, {"width": 1280, "height": 900}
HOSTILE = '<img src=x onerror="document.title=1"> & [red]'


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'classgrow[dev]'")
    if CHROMIUM is None:
        pytest.skip("no browser found: install Debian's package chromium")
    with sync_api.sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A check and an evaluation, with copies, mistakes, strangers, and names that would like to be HTML."""
    folder = tmp_path_factory.mktemp("pages")
    photos = painted(folder / "photos", {"red": 11, "blue": 3, HOSTILE: 2, "a very long name of a class " * 6: 2})
    shutil.copy(photos / "red" / "0-1.png", photos / "blue" / "copy of red.png")
    shutil.copy(photos / "red" / "0-2.png", photos / "red" / "\x1b[31m.png")
    (photos / "red" / "broken.png").write_text("no")
    model = small_model(folder)
    test = painted(folder / "test", {"red": 3, "green": 2, "blue": 3, HOSTILE: 3}, seed=5)
    shutil.copy(photos / "red" / "0-1.png", test / "green" / "red.png")
    checked, found = check(photos, thumbnails=True), evaluate_photos(model, test, pictures=True)
    return {
        "check": write_page(folder / "check.html", check_page(checked, "photos")),
        "evaluation": write_page(folder / "evaluation.html", evaluation_page(found, "model", HOSTILE)),
    }


@pytest.fixture
def open_page(browser: Any) -> Iterator[Any]:
    """Opens a file and keeps a list of what went wrong; any request to elsewhere counts."""
    contexts = []

    def open_one(path: Path, viewport: dict[str, int] = DESKTOP, scheme: str = "light") -> tuple[Any, list[str]]:
        context = browser.new_context(viewport=viewport, color_scheme=scheme)
        contexts.append(context)
        page, wrong = context.new_page(), []
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("requestfailed", lambda request: wrong.append(request.url))
        allowed = (path.as_uri(), "data:")
        page.on("request", lambda request: None if request.url.startswith(allowed) else wrong.append(request.url))
        page.goto(path.as_uri())
        page.evaluate("for (const image of document.images) image.loading = 'eager'")
        page.wait_for_load_state("networkidle")
        return page, wrong

    yield open_one
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", ["check", "evaluation"])
def test_nothing_goes_wrong_and_every_picture_is_inside(pages: dict[str, Path], name: str, open_page: Any) -> None:
    page, wrong = open_page(pages[name])
    images = page.evaluate("[...document.images].map((image) => [image.src.slice(0, 5), image.naturalWidth])")
    assert wrong == [] and len(images) >= 2
    assert all(source == "data:" and width for source, width in images), images
    for link in page.evaluate("[...document.links].map((link) => link.getAttribute('href'))"):
        assert page.locator(f"[id='{link[1:]}']").count() == 1, link


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("name", ["check", "evaluation"])
def test_the_page_never_scrolls_sideways(
    pages: dict[str, Path], name: str, viewport: dict[str, int], open_page: Any
) -> None:
    page, _ = open_page(pages[name], viewport)
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


@pytest.mark.parametrize("name", ["check", "evaluation"])
def test_names_are_text(pages: dict[str, Path], name: str, open_page: Any) -> None:
    page, _ = open_page(pages[name])
    assert page.title() != "1" and page.locator("img[src='x']").count() == 0
    assert HOSTILE in page.inner_text("main")
    assert "\x1b" not in pages[name].read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["check", "evaluation"])
def test_dark_is_dark(pages: dict[str, Path], name: str, open_page: Any) -> None:
    for scheme, least, most in (("light", 240, 255), ("dark", 0, 50)):
        page, _ = open_page(pages[name], DESKTOP, scheme)
        colour = page.eval_on_selector("body", "(element) => getComputedStyle(element).backgroundColor")
        assert all(least <= int(part) <= most for part in colour.split("(")[1].split(")")[0].split(",")[:3]), colour


def test_the_check_says_what_was_found(pages: dict[str, Path], open_page: Any) -> None:
    page, _ = open_page(pages["check"])
    headings = page.locator("h2").all_inner_texts()
    assert headings[0].startswith("One photo under two classes") and headings[-1].startswith("Classes")
    assert page.locator("#two-labels .group").count() >= 1
    assert "red/broken.png" in page.inner_text("#broken")
    assert r"red/\x1b[31m.png" in page.inner_text("#exact")


def test_the_evaluation_opens_with_its_answer(pages: dict[str, Path], open_page: Any) -> None:
    """Nine photos of known classes, one of them a red one among the green."""
    page, _ = open_page(pages["evaluation"])
    lead = page.inner_text(".lead")
    assert "of 9 photos of known classes are named right." in lead and "Of 3 photos of classes" in lead
    assert page.locator("#confusions tbody tr").first.inner_text().split("\t") == ["green", "red", "1"]
    assert "green/red.png" in page.inner_text("#wrong")


def test_a_long_list_is_cut_and_counted() -> None:
    findings = tuple(Finding(SCARCE, f"class {number}: 1 photo") for number in range(MOST_FINDINGS + 7))
    text = check_page(Checked(1, {"a": 1}, findings), "photos")
    assert f"class {MOST_FINDINGS - 1}: " in text and f"class {MOST_FINDINGS}: " not in text
    assert "and 7 more" in text


def test_nothing_found_is_said() -> None:
    text = check_page(Checked(3, {"a": 3}, ()), "photos")
    assert "Nothing to fix was found." in text and "<nav" not in text
