"""A page as people see it: in the light, in the dark, and on a phone."""

from typing import Any, Final

from playwright.sync_api import Page

from tests.studio.browser.conftest import DESKTOP, PHONE, Save
from tests.studio.browser.readable import flaws

LOOKS: Final[tuple[tuple[str, Any, Any], ...]] = (
    ("", DESKTOP, "light"),
    ("_dark", DESKTOP, "dark"),
    ("_phone", PHONE, "light"),
    ("_phone_dark", PHONE, "dark"),
)
"""Suffix of the picture's name, size of the window, colours."""


def fits_in_every_look(page: Page, screenshot: Save, name: str) -> None:
    """Fails where a look of the page has flaws; writes a picture of each look if pytest was given `--screenshots`."""
    for suffix, size, colours in LOOKS:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=colours)
        assert flaws(page) == {}, (name, suffix)
        screenshot(page, f"{name}{suffix}", is_whole=True)
    page.set_viewport_size(DESKTOP)
    page.emulate_media(color_scheme="light")
