"""The report in a real browser."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from classgrow.records.official import official_records
from classgrow.report.make import make_report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PHONE, DESKTOP = {"width": 375, "height": 800}, {"width": 1280, "height": 900}


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
def report(tmp_path_factory: pytest.TempPathFactory, make: Any, write: Any, simulation: Any, graph: Any) -> Path:
    """The authors' files, a reduced grid with a gap, a small setting of its own, a failed run, two of three toys."""
    small = {"epochs": 7, "classes": 20, "first": 4, "step": 4, "memory": 200}
    records = [
        *official_records()[:10],
        *(make("fgp", order, level, epochs=7) for order, level in (("0", 0.42), ("1", 0.44))),
        *(make("icarl", order, 0.39, epochs=7, seconds=90) for order in ("0", "1")),
        make("bic", "0", 0.41, epochs=7),
        *(make(method, "0", 0.5, **small) for method in ("fgp", "icarl", "fgp-ce")),
        make("lucir", "0", 0.4, epochs=7, phases=2, status="failed", error="out of memory"),
    ]
    folder = tmp_path_factory.mktemp("page")
    (folder / "runs" / "toy").mkdir(parents=True)
    for name, content in (("simulation", simulation), ("graph", graph)):
        (folder / "runs" / "toy" / f"{name}.json").write_text(json.dumps(content))
    return make_report(write(records, folder / "runs"), folder / "report").output


@pytest.fixture
def open_page(browser: Any) -> Iterator[Any]:
    """Opens a file and keeps a list of everything that went wrong; any request that leaves the folder counts."""
    contexts = []

    def open_one(path: Path, viewport: dict[str, int] = DESKTOP, scheme: str = "light") -> tuple[Any, list[str]]:
        context = browser.new_context(viewport=viewport, color_scheme=scheme)
        contexts.append(context)
        page, wrong = context.new_page(), []
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("requestfailed", lambda request: wrong.append(request.url))
        page.on(
            "request", lambda request: None if request.url.startswith(("file:", "data:")) else wrong.append(request.url)
        )
        page.goto(path.as_uri())
        page.wait_for_load_state("load")
        return page, wrong

    yield open_one
    for context in contexts:
        context.close()


def pages(report: Path) -> list[Path]:
    """The first page, one run of a hundred classes with a picture, one small one, one failed."""
    runs = sorted((report / "runs").iterdir())
    kinds = ("data:image/png", "20 classes", "out of memory", "result files")
    return [report / "index.html", *(next(run for run in runs if kind in run.read_text()) for kind in kinds)]


def test_nothing_goes_wrong_and_nothing_comes_from_outside(report: Path, open_page: Any) -> None:
    for path in pages(report):
        page, wrong = open_page(path)
        assert wrong == []
        assert page.title()


def test_every_image_loads(report: Path, open_page: Any) -> None:
    for path in pages(report):
        page, _ = open_page(path)
        images = page.evaluate("[...document.images].map((image) => [image.src, image.complete && image.naturalWidth])")
        assert all(width for _, width in images), images
    index, _ = open_page(report / "index.html")
    assert index.locator("img").count() >= 5


def test_every_link_leads_somewhere(report: Path, open_page: Any) -> None:
    page, _ = open_page(report / "index.html")
    for link in page.evaluate("[...document.links].map((link) => link.getAttribute('href'))"):
        target, _, anchor = link.partition("#")
        assert not target or (report / target).is_file(), link
        assert not anchor or page.locator(f"[id='{anchor}']").count() == 1, link


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP])
def test_the_page_never_scrolls_sideways(report: Path, open_page: Any, viewport: dict[str, int]) -> None:
    for path in pages(report):
        page, _ = open_page(path, viewport)
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], path


def column(page: Any, table: str, place: int) -> list[str]:
    return page.evaluate(
        "([table, place]) => "
        "[...document.querySelector(table).tBodies[0].rows].map((row) => row.cells[place].innerText)",
        [table, place],
    )


def test_tables_sort_and_missing_stays_last(report: Path, open_page: Any) -> None:
    """FGP (0.42 + 0.44) / 2 = 43.0, BIC 41.0, iCaRL 39.0; the other three have no runs."""
    page, _ = open_page(report / "index.html")
    table = "#table1-7epochs table"
    header = page.locator(f"{table} th[data-column='1']")
    assert header.get_attribute("aria-sort") == "none"
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    assert column(page, table, 0)[:3] == ["FGP", "BIC", "iCaRL"]
    assert [text.split()[0] for text in column(page, table, 1)] == ["43.0", "41.0", "39.0", *["missing"] * 3]
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "ascending"
    assert [text.split()[0] for text in column(page, table, 1)] == ["39.0", "41.0", "43.0", *["missing"] * 3]


def test_tables_sort_by_key_and_by_text(report: Path, open_page: Any) -> None:
    page, _ = open_page(report / "index.html")
    button = page.locator("#table1-7epochs table th[data-column='0'] button").first
    button.focus()
    page.keyboard.press("Enter")
    names = column(page, "#table1-7epochs table", 0)
    assert names == sorted(names, key=str.lower)
    assert button.locator("xpath=..").get_attribute("aria-sort") == "ascending"


def test_ours_paper_and_difference_stand_side_by_side(report: Path, open_page: Any) -> None:
    page, _ = open_page(report / "index.html")
    row = page.locator("#table1-7epochs tbody tr", has_text="FGP").first
    cells = [text.split("\n")[0].strip() for text in row.locator("td").all_inner_texts()]
    assert cells[:3] == ["43.0", "44.7", "−1.7"]
    assert "2 of 5 class orders; 7 of 70 epochs" in page.locator("#table1-7epochs .words").inner_text()


def test_the_list_of_runs_can_be_searched(report: Path, open_page: Any) -> None:
    page, _ = open_page(report / "index.html")
    page.fill("#search", "hou19 failed")
    assert page.locator("#runs-table tbody tr:visible").count() == 1
    page.fill("#search", "")
    assert page.locator("#runs-table tbody tr:visible").count() == 19


def luminance(page: Any, property_name: str, selector: str = "body") -> float:
    colour = page.eval_on_selector(selector, f"(element) => getComputedStyle(element).{property_name}")
    red, green, blue = (int(part) for part in colour.split("(")[1].split(")")[0].split(",")[:3])
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255


def test_dark_is_dark_and_figures_stay_on_white(report: Path, open_page: Any) -> None:
    for path in pages(report)[:2]:
        light, _ = open_page(path)
        dark, _ = open_page(path, DESKTOP, "dark")
        assert luminance(light, "backgroundColor") > 0.9 > 0.3 > luminance(light, "color")
        assert luminance(dark, "backgroundColor") < 0.2 < 0.8 < luminance(dark, "color")
    page, _ = open_page(report / "index.html", DESKTOP, "dark")
    assert luminance(page, "backgroundColor", ".card") == pytest.approx(1.0)
