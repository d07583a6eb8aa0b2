"""The page in a real browser, against the service as a process of its own."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.serve.conftest import TOKEN, noise, png
from tests.serve.visits import LEARNED, Running, Visit, photo, photos, started

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
VIEWS = ("ask", "teach", "classes", "unknown", "history")
SCRIPT = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def services(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Running]]:
    """One that knows red and green and is private; one that knows nothing and may be looked at by anybody."""
    place = tmp_path_factory.mktemp("page")
    shutil.copytree(trained, place / "pets")
    running = started(place / "pets"), started(place / "fresh", "--public-read")
    yield running
    for one in running:
        one.process.terminate()
    assert {one.process.wait(60) for one in running} <= {0, -signal.SIGTERM}


@pytest.fixture(scope="module")
def service(services: tuple[Running, Running]) -> Running:
    services[0].wait()
    return services[0]


@pytest.fixture(scope="module")
def fresh(services: tuple[Running, Running]) -> Running:
    services[1].wait()
    return services[1]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'classgrow[dev]'")
    if CHROMIUM is None:
        pytest.skip("no browser found: install Debian's package chromium")
    with sync_api.sync_playwright() as playwright:
        arguments = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
        arguments += ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Opens a service; at the end nothing may have gone wrong, and nothing may have been asked of another origin."""
    visits, contexts = [], []

    def open_one(running: Running, viewport: dict[str, int] = DESKTOP, link: str | None = None, **more: Any) -> Visit:
        context = browser.new_context(viewport=viewport, **more)
        contexts.append(context)
        page, wrong = context.new_page(), []
        own = (running.url, "data:", f"blob:{running.url}")
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(f"dialog {dialog.message}"))
        page.on("request", lambda request: None if request.url.startswith(own) else wrong.append(request.url))
        page.goto(link or running.link)
        page.locator("body[data-asked]").wait_for()
        found = Visit(page, wrong)
        visits.append(found)
        return found

    yield open_one
    for context in contexts:
        context.close()
    assert [found.wrong for found in visits] == [[] for _ in visits]


def test_a_first_class_is_taught_on_a_phone_from_a_fresh_start(fresh: Running, visit: Any) -> None:
    """Who comes without the link may look; signed in, the page leads to teaching, and on to asking."""
    found = visit(fresh, PHONE, link=fresh.url)
    page = found.page
    assert "To teach or change something, open the link" in page.locator("#signed-out-words").inner_text()
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("Token").fill(TOKEN)
    page.locator("#sign-in-form button").click()
    page.locator("#signed-out").wait_for(state="hidden")
    page.get_by_role("button", name="Teach a first class").click()
    assert page.evaluate("document.activeElement.id") == "teach-name"
    page.fill("#teach-name", "green")
    page.click("#teach-learn")
    assert page.locator("#teach-error").inner_text() == "Add at least one photo (step 2)."
    found.choose("#teach-choose", photos("green", 6))
    page.get_by_text("6 photos: a start. 14 more would be good.").wait_for()
    page.get_by_role("button", name="Learn green from 6 photos").click()
    found.decide("Keep")
    page.get_by_role("link", name="Try it").click()
    page.get_by_text("It knows 1 class: green.").wait_for()
    assert found.sees_classes("green")


def test_known_and_unknown_photos(service: Running, visit: Any) -> None:
    found = visit(service)
    card = found.ask(png("red", 60), "mine.png")
    assert card.locator(".said").inner_text() == "red"
    assert card.locator(".source").inner_text() == "mine.png"
    assert [row.split("\n")[0] for row in card.locator(".bars li").all_inner_texts()] == ["red", "green"]
    nearest = card.locator(".near img")
    assert nearest.count() == 4
    nearest.first.scroll_into_view_if_needed()
    found.page.wait_for_timeout(300)
    assert nearest.first.evaluate("image => image.naturalWidth") > 0
    card = found.ask(noise(3))
    assert card.locator(".said").inner_text() == "None of these"
    found.page.locator("#tray-count").wait_for()
    assert found.page.locator("#tray-count").inner_text() == "1"


def test_a_class_is_taught_kept_undone_and_forgotten_by_keyboard_alone(service: Running, visit: Any) -> None:
    found = visit(service)
    page = found.page

    def press(selector: str, key: str = "Enter") -> None:
        """Tab to something, and press a key there."""
        for _ in range(80):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                shown = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert shown == "solid", f"no visible focus at {selector}"
                page.keyboard.press(key)
                return
        raise AssertionError(f"{selector} is not reached")

    press(".tabs a[href='#teach']")
    press("#teach-name", "End")
    page.keyboard.type("blue")
    with page.expect_file_chooser() as chooser:
        press("#teach-choose")
    chooser.value.set_files(photos("blue", 7))
    page.locator("#teach-photos li").nth(6).wait_for()
    press("#teach-photos button", "Enter")
    page.get_by_text("6 photos: a start. 14 more would be good.").wait_for()
    press("#teach-learn")
    page.locator(".job.ready").wait_for(timeout=LEARNED)
    assert page.locator(".compare tbody th").all_inner_texts() == ["green", "red", "blue", "All classes"]
    assert page.locator(".compare tbody tr").nth(2).locator("td").last.inner_text() == "new"
    press(".job.ready button.primary")
    page.locator(".job.ready").wait_for(state="detached")
    press(".tabs a[href='#history']")
    page.get_by_text("Version 2").first.wait_for()
    press("#history .present button")
    page.get_by_text("Version 3").first.wait_for()
    assert found.sees_classes("green", "red")
    found.go("history")
    press("#history .present button")
    page.get_by_text("Version 4").first.wait_for()
    assert found.sees_classes("green", "red", "blue")
    press("button[aria-label='Forget blue']")
    assert page.evaluate("document.activeElement.id") == "sure-no"
    assert "removed, here and in all earlier versions" in page.locator("#sure-words").inner_text()
    press("#sure-yes")
    page.locator("#sure").wait_for(state="hidden")
    assert found.sees_classes("green", "red")


def test_a_wrong_answer_is_corrected_with_two_clicks(service: Running, visit: Any) -> None:
    found = visit(service)
    card = found.ask(png("white", 5))
    card.locator(".correct button").first.click()
    card.get_by_role("group", name="The right class").get_by_role("button", name="green").click()
    card.get_by_text("Thank you. It is being learned as a photo of green.").wait_for()
    found.go("classes")
    green = found.page.locator(".class", has_text="green").get_by_text("9 photos")
    green.wait_for(timeout=LEARNED)
    assert green.count() == 1


def test_names_are_text_and_unknown_photos_get_one(service: Running, visit: Any) -> None:
    """A file and a class called like a piece of HTML are shown as they are called, and nothing runs."""
    found = visit(service)
    page = found.page
    card = found.ask(noise(4), f"{SCRIPT}.png")
    assert card.locator(".source").inner_text() == f"{SCRIPT}.png"
    found.go("unknown")
    group = page.locator(".group").first
    group.get_by_label("What is this?").fill(SCRIPT)
    group.get_by_role("button", name="Learn").click()
    page.locator("#working").click()
    found.decide("Keep")
    assert SCRIPT in found.classes()
    found.go("history")
    page.locator("#history").get_by_text(SCRIPT).first.wait_for()
    card = found.ask(noise(4), "again.png")
    assert SCRIPT in card.locator(".bars").inner_text()
    assert page.locator("img[src='x']").count() == 0
    found.go("classes")
    page.get_by_role("button", name=f"Rename {SCRIPT}").click()
    page.get_by_label(f"New name of {SCRIPT}").fill("noise & more")
    page.keyboard.press("Enter")
    page.locator(".class h3", has_text="noise & more").wait_for()


def test_the_queue_shows_what_waits_and_lets_go_of_it(service: Running, visit: Any) -> None:
    """Two are taught at once: the second waits and is taken out, the first is discarded, and nothing has changed."""
    found = visit(service)
    page = found.page
    before = found.classes()
    found.go("teach")
    for name in ("first", "second"):
        page.fill("#teach-name", name)
        found.choose("#teach-choose", photos("blue", 2))
        page.locator("#teach-photos li").nth(1).wait_for()
        page.click("#teach-learn")
        page.locator("#teach-photos li").first.wait_for(state="detached")
    waiting = page.locator(".job", has_text="second")
    waiting.get_by_text("waits").wait_for()
    page.get_by_role("button", name="Do not learn second").click()
    page.get_by_text("second is discarded").wait_for()
    page.locator(".job", has_text="first").get_by_role("button", name="Stop").or_(
        page.locator(".job.ready").get_by_role("button", name="Discard")
    ).click()
    page.get_by_text("first is discarded").wait_for()
    assert found.sees_classes(*before)


def test_nothing_is_lost_while_the_service_is_away(service: Running, visit: Any) -> None:
    found = visit(service)
    page = found.page
    found.go("teach")
    page.fill("#teach-name", "later")
    found.choose("#teach-choose", photos("blue", 3))
    page.locator("#teach-photos li").nth(2).wait_for()
    page.context.set_offline(True)
    page.click("#teach-learn")
    page.locator("#teach-error").get_by_text("The service cannot be reached. Nothing is lost").wait_for()
    assert page.locator("#offline").is_visible()
    assert page.locator("#teach-photos li").count() == 3
    assert page.input_value("#teach-name") == "later"
    found.go("ask")
    found.choose("#ask-choose", [photo(png("red", 61))])
    card = page.locator(".answer").first
    card.get_by_role("button", name="Try again").wait_for()
    page.context.set_offline(False)
    card.get_by_role("button", name="Try again").click()
    card.locator(".bars").wait_for()
    assert card.locator(".said").inner_text() == "red"
    page.locator("#offline").wait_for(state="hidden")
    offline = [text for text in found.wrong if "ERR_INTERNET_DISCONNECTED" in text]
    assert offline and found.wrong == offline
    found.wrong.clear()


def test_big_photos_are_made_smaller_and_others_refused_in_words(service: Running, visit: Any, tmp_path: Path) -> None:
    found = visit(service)
    page = found.page
    Image.new("RGB", (3000, 2000), (220, 40, 40)).save(tmp_path / "big.png")
    (tmp_path / "broken.png").write_bytes(b"no picture")
    found.choose("#ask-choose", [tmp_path / "big.png", tmp_path / "broken.png"])
    page.locator(".answer .bars").wait_for()
    size = "image => [image.naturalWidth, image.naturalHeight]"
    assert page.locator(".answer > img").last.evaluate(size) == [1024, 683]
    broken = page.locator(".answer", has_text="broken.png")
    assert "is not a photo that this browser can open" in broken.inner_text()


def test_holding_the_camera_button_takes_several_photos(service: Running, visit: Any) -> None:
    found = visit(service, PHONE)
    page = found.page
    found.go("teach")
    page.click("#teach-camera")
    page.locator("#camera-shutter:enabled").wait_for()
    box = page.locator("#camera-shutter").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.down()
    page.locator("#teach-photos li").nth(2).wait_for(state="attached")
    page.mouse.up()
    page.click("#camera-close")
    taken = page.locator("#teach-photos li").count()
    assert taken >= 3
    assert f"{taken} photos" in page.locator("#enough-words").inner_text()
    assert page.evaluate("document.getElementById('camera-video').srcObject") is None


@pytest.mark.parametrize("viewport", [PHONE, DESKTOP])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_scrolls_sideways(service: Running, visit: Any, viewport: dict[str, int], scheme: str) -> None:
    found = visit(service, viewport, color_scheme=scheme, reduced_motion="reduce")
    page = found.page
    found.ask(noise(5), "x" * 120 + ".png").locator(".correct button").first.click()
    for view in VIEWS:
        found.go(view)
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], view
    dark = page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(18, 21, 19)"
    assert dark == (scheme == "dark")
    assert page.evaluate("getComputedStyle(document.querySelector('.bar i')).transitionProperty") == "none"


def test_without_the_token_a_private_service_says_how_to_sign_in(service: Running, visit: Any) -> None:
    found = visit(service, link=service.url)
    page = found.page
    assert "This service is private" in page.locator("#signed-out-words").inner_text()
    assert page.locator("main").is_hidden()
    page.get_by_label("Token").fill("not the token at all")
    page.locator("#sign-in-form button").click()
    page.get_by_text("That token is not the right one.").wait_for()
    assert found.wrong == ["Failed to load resource: the server responded with a status of 401 (Unauthorized)"]
    found.wrong.clear()
