"""Coming in: by link, by invitation, and not at all."""

import contextlib
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from tests.studio.browser.conftest import Console, Open
from tests.studio.studio_process import Api, StudioProcess


def test_r42_a_link_logs_in_and_leaves_the_address(open_page: Open, studio: StudioProcess) -> None:
    """Whoever looks at the screen, or at the history, gets no token."""
    page = open_page(f"#{urlsplit(studio.link).fragment}", person=Api(studio.url))
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
    assert "token" not in page.url
    page.reload()
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()


def test_an_invitation_asks_for_a_name_and_makes_an_account(open_page: Open, api: Api, studio: StudioProcess) -> None:
    """Of the role that the invitation says; the page shows what that role may do."""
    invitation = api.post("invitations", role="participant")["invitation"]
    page = open_page(f"#login?invitation={invitation}", person=Api(studio.url))
    expect(page.get_by_role("heading", name="You are invited")).to_be_visible()
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("E-mail address").fill("ada@example.org")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
    expect(page.get_by_text("Ada", exact=False).first).to_be_visible()
    names = page.get_by_role("navigation", name="Views").get_by_role("link").all_inner_texts()
    assert names == ["Studies", "My episodes"]
    expect(page.get_by_role("link", name="New study")).to_have_count(0)


def test_a_permalink_leads_to_its_study_after_the_login(
    open_page: Open, api: Api, studio: StudioProcess, console: Console
) -> None:
    """Who is not logged in comes to the login first, and then to what was asked for."""
    console.expect("401")
    study = api.study("Behind the door", {"environment": "CartPole-v1"})
    page = open_page(f"#study?id={study['id']}", person=Api(studio.url))
    page.get_by_label("Link or token").fill(f"{studio.url}/#login?token={studio.person('participant', 'bea').token}")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Behind the door")).to_be_visible()
    assert page.url.endswith(f"#study?id={study['id']}")


def test_r5_r42_a_permalink_lets_anybody_in_while_the_study_is_open(
    open_page: Open, api: Api, studio: StudioProcess, console: Console
) -> None:
    """Without a name, and without an account before; a study that is not open says so."""
    console.expect("40[13]")
    study = api.study("Come in", {"environment": "CartPole-v1"})
    page = open_page(f"#study?id={study['id']}", person=Api(studio.url))
    page.get_by_role("button", name="Go to the study").click()
    expect(page.get_by_role("heading", name="Come in")).to_be_visible()
    assert page.url.endswith(f"#study?id={study['id']}")
    api.put(f"studies/{study['id']}/state", enabled=False)
    late = open_page(f"#study?id={study['id']}", person=Api(studio.url))
    expect(late.get_by_role("alert")).to_contain_text("not open now")
    expect(late.get_by_role("button", name="Go to the study")).to_have_count(0)


def test_a_wrong_token_is_refused_with_a_reason(open_page: Open, studio: StudioProcess, console: Console) -> None:
    """And the page still asks for a right one."""
    console.expect("40[01]")
    page = open_page("", person=Api(studio.url))
    page.get_by_label("Link or token").fill("https://example.org/#login?token=%zz")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("not made by this studio")
    expect(page.get_by_label("Link or token")).to_be_visible()


def test_logging_out_shows_the_login_and_ends_the_cookie(
    open_page: Open, studio: StudioProcess, console: Console
) -> None:
    """Going back, or loading the page again, shows nothing more."""
    console.expect("401")
    with contextlib.closing(Api.log_in(studio.url, token=studio.person("participant", "carl").token)) as person:
        page = open_page("", person=person)
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Link or token")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Link or token")).to_be_visible()


def test_a_login_that_ended_meanwhile_leads_to_the_login(
    open_page: Open, studio: StudioProcess, console: Console
) -> None:
    """Whatever is asked of the server then."""
    console.expect("401")
    with contextlib.closing(Api.log_in(studio.url, token=studio.designer.token)) as person:
        page = open_page("#studies", person=person)
        expect(page.get_by_role("heading", name="Studies")).to_be_visible()
        person.post("logout")
    page.evaluate("location.hash = '#episodes'")  # no click: the page may have asked for more by itself
    expect(page.get_by_label("Link or token")).to_be_visible()


def test_a_designer_makes_an_invitation_that_works(page: Page, open_page: Open, studio: StudioProcess) -> None:
    """The link that the page shows lets a reviewer in."""
    page.get_by_role("link", name="Invite").click()
    page.get_by_role("radio", name="reviewer").check()
    page.get_by_role("button", name="Make a link").click()
    link = page.get_by_label("Invitation link").input_value()
    invited = open_page(f"#{urlsplit(link).fragment}", person=Api(studio.url))
    invited.get_by_label("Your name").fill("Rita")
    invited.get_by_role("button", name="Continue").click()
    expect(invited.get_by_text("reviewer")).to_be_visible()


def test_the_theme_follows_the_system_until_one_is_chosen(open_page: Open) -> None:
    page = open_page("#studies", color_scheme="dark")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Colours: system").click()
    light = page.evaluate(ground)
    assert dark != light
    page.reload()
    expect(page.get_by_role("button", name="Colours: light")).to_be_visible()
    assert page.evaluate(ground) == light
