"""A gamepad that nobody has to buy."""

from typing import Final

from playwright.sync_api import Page

_SCRIPT: Final = """() => {
    if (window.fakeGamepad) return;
    const pad = window.fakeGamepad = {
        id: "Fake gamepad (Vendor: 0000 Product: 0000)", index: 0, connected: true, mapping: "standard", timestamp: 1,
        axes: [0, 0, 0, 0, 0, 0],
        buttons: Array.from({ length: 17 }, () => ({ pressed: false, touched: false, value: 0 })),
    };
    window.fakeGamepads = [null, null, null, null];
    navigator.getGamepads = () => window.fakeGamepads;
}"""


class Gamepad:
    """Of one page, which must not be loaded again.

    Args:
      page: that it is plugged into.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        page.evaluate(_SCRIPT)

    def connect(self, name: str | None = None) -> None:
        """Plugs it in; browsers say so."""
        self._page.evaluate(
            """(name) => {
                if (name) fakeGamepad.id = name;
                fakeGamepads[0] = fakeGamepad;
                const event = new Event("gamepadconnected");
                event.gamepad = fakeGamepad;
                dispatchEvent(event);
            }""",
            name,
        )

    def disconnect(self) -> None:
        """Pulls it out."""
        self._page.evaluate(
            """() => {
                fakeGamepads[0] = null;
                const event = new Event("gamepaddisconnected");
                event.gamepad = fakeGamepad;
                dispatchEvent(event);
            }"""
        )

    def hold(self, button: int, value: float = 1.0) -> None:
        """Holds a button; 0 lets it go."""
        self._page.evaluate(
            """([button, value]) => {
                fakeGamepad.buttons[button] = { pressed: value > 0, touched: value > 0, value };
                fakeGamepad.timestamp += 1;
            }""",
            [button, value],
        )
        self._seen()

    def press(self, button: int) -> None:
        """Presses a button and lets it go."""
        self.hold(button)
        self.hold(button, 0.0)

    def tilt(self, axis: int, value: float) -> None:
        """Moves a stick."""
        self._page.evaluate(
            "([axis, value]) => { fakeGamepad.axes[axis] = value; fakeGamepad.timestamp += 1; }", [axis, value]
        )
        self._seen()

    def _seen(self) -> None:
        """Waits until pages that look once a frame have looked."""
        self._page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))"
        )
