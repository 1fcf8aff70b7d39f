"""Everybody can read the pages and find what can be used: WCAG 2.2, level AA, as far as a program can see it."""

from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from tests.studio.browser import playing
from tests.studio.browser.conftest import Console, Open
from tests.studio.studio_process import CORRIDOR, Api, StudioProcess

FAINT: Final = """() => {
    const pixel = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    const rgba = (color) => {
        pixel.clearRect(0, 0, 1, 1);
        pixel.fillStyle = color;
        pixel.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = ([r, g, b, a], [r0, g0, b0]) => [r * a + r0 * (1 - a), g * a + g0 * (1 - a), b * a + b0 * (1 - a), 1];
    const ground = (element) => {
        if (!element) return rgba(getComputedStyle(document.documentElement).backgroundColor);
        const own = rgba(getComputedStyle(element).backgroundColor);
        return own[3] === 1 ? own : over(own, ground(element.parentElement));
    };
    const light = (color) => {
        const [r, g, b] = color.slice(0, 3).map((each) => each / 255)
            .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (one, other) => {
        const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
        return (high + 0.05) / (low + 0.05);
    };
    const found = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement;
        const text = texts.currentNode.textContent.trim();
        const isShown = element.checkVisibility({ visibilityProperty: true });
        if (!text || !isShown || element.closest(":disabled, .unseen, noscript")) continue;
        const style = getComputedStyle(element);
        const behind = ground(element);
        const size = parseFloat(style.fontSize);
        const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
        const ratio = contrast(over(rgba(style.color), behind), behind);
        if (ratio < (isLarge ? 3 : 4.5)) found.push(`${text.slice(0, 40)}: ${ratio.toFixed(2)}`);
    }
    return found;
}"""
NAMELESS: Final = """() => [...document.querySelectorAll("button, a[href], input, select, textarea, [role]")]
    .filter((element) => element.checkVisibility() && !element.ariaLabel && !element.title && !element.innerText?.trim()
        && !element.labels?.length && !element.getAttribute("aria-labelledby"))
    .map((element) => element.outerHTML.slice(0, 120))"""


def _check(page: Page, place: str) -> None:
    assert (place, page.evaluate(FAINT)) == (place, [])
    assert (place, page.evaluate(NAMELESS)) == (place, [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_contrast_and_all_controls_have_names(
    open_page: Open, api: Api, studio: StudioProcess, console: Console, scheme: Any
) -> None:
    """In both colours, on the pages of studies, in the editor, in the player and its dialogs, and at the login."""
    console.expect("401")
    study = api.study(
        "Readable", {"environment": CORRIDOR, "turn": "press"}, instructions="# Go\n\n- `right` [on](https://a.b)"
    )
    page = open_page("#studies", color_scheme=scheme)
    for place in ("#studies", f"#study?id={study['id']}", f"#edit?id={study['id']}", "#invite"):
        page.goto(f"/{place}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.get_by_text("Looking up its settings")).to_have_count(0)
        _check(page, place)
    page.goto(f"/{playing.link(study)}")
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    _check(page, "start")
    playing.begin(page)
    playing.press(page, "ArrowRight")
    _check(page, "player")
    playing.end(page)
    _check(page, "question")
    playing.save(page)
    _check(page, "saved")
    visitor = open_page("", person=Api(studio.url), color_scheme=scheme)
    expect(visitor.get_by_role("button", name="Log in")).to_be_visible()
    _check(visitor, "login")


def test_the_first_tab_stop_leads_to_the_content(page: Page) -> None:
    """Past the navigation, without leaving the view."""
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
