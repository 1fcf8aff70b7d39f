"""Whether everybody can read a page and find what can be used: WCAG 2.2, level AA, as far as a program can see it."""

from typing import Final

from playwright.sync_api import Page

_FAINT: Final = """() => {
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
_NAMELESS: Final = """() => [...document.querySelectorAll("button, a[href], input, select, textarea, [role]")]
    .filter((element) => element.checkVisibility() && element.type !== "hidden" && !element.ariaLabel && !element.title
        && !element.innerText?.trim()
        && !element.labels?.length && !element.getAttribute("aria-labelledby"))
    .map((element) => element.outerHTML.slice(0, 120))"""


def flaws(page: Page) -> dict[str, object]:
    """What is wrong with a page as it is: its width, heading, title, contrasts, and names of controls."""
    width, room = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    headings = page.get_by_role("heading", level=1).all_inner_texts()
    found = {
        "wider than the window": width > room and (width, room),
        "headings": len(headings) != 1 and headings,
        "title": not page.title(),
        "faint": page.evaluate(_FAINT),
        "nameless": page.evaluate(_NAMELESS),
    }
    return {name: each for name, each in found.items() if each}
