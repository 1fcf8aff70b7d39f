"""What a person does with the player, and sees."""

from collections.abc import Callable, Mapping
from typing import Any

from playwright.sync_api import Page, WebSocketRoute, expect

import rlds_kit
from tests.studio.studio_process import StudioProcess


def link(study: Mapping[str, Any], number: int = 0) -> str:
    """Of the player, for an environment of a study."""
    return f"#play?study={study['id']}&environment={study['environments'][number]['id']}"


def fact(page: Page, name: str) -> str:
    """What the status line says: Episode, Step, Reward or Return."""
    found = page.locator(".status-line dl > div").filter(has=page.locator("dt", has_text=name)).locator("dd")
    return found.inner_text()


def expect_fact(page: Page, name: str, value: str) -> None:
    """Waits until the status line says something."""
    found = page.locator(".status-line dl > div").filter(has=page.locator("dt", has_text=name)).locator("dd")
    expect(found).to_have_text(value)


def begin(page: Page) -> None:
    """Starts the episode that is ready."""
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("group", name="Ready")).to_have_count(0)


def press(page: Page, *chords: str) -> None:
    """Presses keys one after another, such as "ArrowLeft" or "ArrowUp+Space", each when the step before is shown.

    What is pressed while something stands over the picture is no action.
    """
    expect(page.locator(".overlay")).to_have_count(0)
    step = int(fact(page, "Step"))
    for chord in chords:
        keys = chord.split("+")
        for key in keys[:-1]:
            page.keyboard.down(key)
        page.keyboard.press(keys[-1])
        for key in reversed(keys[:-1]):
            page.keyboard.up(key)
        step += 1
        expect_fact(page, "Step", str(step))


def settled(page: Page) -> None:
    """Waits until two frames are painted: what has to happen then has happened."""
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))")


def play_out(page: Page, touch: Callable[[], None]) -> None:
    """Waits until the episode is over by itself, and touches something meanwhile.

    Whoever touches nothing for six seconds is thought to be away, and on a busy machine these are few steps.
    """
    asked = page.get_by_role("dialog", name="The episode is over")
    while not asked.is_visible():
        touch()
        settled(page)


def end(page: Page) -> None:
    """Breaks the episode off, and waits for the question."""
    page.get_by_role("toolbar").get_by_role("button", name="End episode").click()
    expect(page.get_by_role("dialog")).to_be_visible()


def save(page: Page, *, completed: bool = True) -> None:
    """Answers the question with yes, and waits until it is said that the episode is recorded."""
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("checkbox").set_checked(completed)
    dialog.get_by_role("button", name="Save").click()
    said = page.get_by_role("status").filter(has_text="is recorded as")
    expect(said.last).to_contain_text("completed" if completed else "cancelled")


def recorded(studio: StudioProcess, study: Mapping[str, Any], status: str = "completed") -> list[rlds_kit.Episode]:
    """The episodes of the first environment of a study, as they are on the disk."""
    directory = studio.recordings / study["id"] / study["environments"][0]["id"]
    found = rlds_kit.open(directory, include_open=True).episodes
    return [episode for episode in found if episode.metadata.get("status") == status]


class Cable:
    """Between a page and the server; it can be pulled."""

    def __init__(self) -> None:
        self._sockets: list[tuple[WebSocketRoute, WebSocketRoute]] = []
        self._is_pulled = False

    def lay(self, page: Page) -> None:
        """To a page that has not connected yet."""
        page.route_web_socket("**/ws/**", self._connected)

    def _connected(self, socket: WebSocketRoute) -> None:
        if self._is_pulled:
            socket.close(code=3001)
        else:
            self._sockets.append((socket, socket.connect_to_server()))

    def pull(self) -> None:
        """Both sides lose the other."""
        self._is_pulled = True
        for socket, server in self._sockets:
            server.close(code=3001)
            socket.close(code=3001)
        self._sockets.clear()

    def plug(self) -> None:
        """From now on connections succeed."""
        self._is_pulled = False
