"""What others wrote, and links that others made: shown as text, and followed nowhere else."""

from typing import Final

from playwright.sync_api import expect

from tests.studio.browser.conftest import Console, Open
from tests.studio.studio_process import CORRIDOR, Api, StudioProcess

EVIL: Final = '"><img src=x onerror="document.title=`run`"><script>document.title="run"</script>'
INSTRUCTIONS: Final = f"""# {EVIL}

- {EVIL}

[a](javascript:document.title='run') [b](data:text/html,x) [c](https://example.org/"onclick="x) {EVIL}

{"[" * 40_000}
"""


def test_texts_of_others_never_run(open_page: Open, api: Api) -> None:
    """Names and instructions are text and nothing else; links in them lead to the web only."""
    environment = {"name": EVIL[:150], "environment": CORRIDOR, "turn": "press"}
    study = api.post("studies", name=EVIL, description=EVIL, instructions=INSTRUCTIONS, environments=[environment])[
        "study"
    ]
    page = open_page(f"#study?id={study['id']}")
    expect(page.get_by_role("heading", name=EVIL).first).to_be_visible()
    expect(page.locator(".markdown a")).to_have_count(1)
    assert page.locator(".markdown a").get_attribute("href") == 'https://example.org/"onclick="x'
    assert page.locator("main img, main script").count() == 0
    assert page.title() != "run"


def test_a_link_to_a_session_asks_for_nothing_else(open_page: Open, api: Api, console: Console) -> None:
    """A made-up session in the address cannot become another request, such as logging out."""
    console.expect("404")
    page = open_page("#watch?session=../logout%3F")
    expect(page.get_by_text("Not Found").first).to_be_visible()
    assert api.get("me")["account"]["role"] == "designer"


def test_a_link_of_somebody_else_takes_logging_out(open_page: Open, studio: StudioProcess, console: Console) -> None:
    """Nobody comes into the account of another by following a link; who wants to says so."""
    console.expect("409")
    ann, eve = studio.person("participant", "Ann A"), studio.person("participant", "Eve E")
    page = open_page(f"#login?token={eve.token}", person=ann)
    expect(page.get_by_role("alert")).to_contain_text("logged in as Ann A")
    assert ann.get("me")["account"]["name"] == "Ann A"
    page.get_by_role("button", name="Log out, and use the link").click()
    expect(page.get_by_text("Eve E", exact=False).first).to_be_visible()
