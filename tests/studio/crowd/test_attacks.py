"""Somebody with the link of a participant tries what is not theirs."""

from starlette.routing import Route

from rlds_kit.studio.database.roles import Role
from tests.studio.api.studio import Studio, ok
from tests.studio.api.window import URL, Window
from tests.studio.crowd.crowds import GOOD, Visitor, arriving, experimenter, visitor


def player(studio: Studio) -> tuple[Visitor, str]:
    """Somebody who plays, and their id."""
    person = visitor(studio)
    person.to_the_lobby()
    return person, str(person.go("place")["id"])


def test_no_place_of_the_server_but_ones_own_way_is_open(walks: Studio) -> None:
    """Every route, as a participant: the experimenter's, those of studies, episodes, replays, exports, invitations."""
    eve, person = player(walks)
    _, other = player(walks)
    open_ones = {"/api/about", "/api/me", "/api/login", "/api/logout"}
    tried = 0
    for route in walks.client.app.router.routes:  # type: ignore[attr-defined]  # of Starlette
        if not isinstance(route, Route) or not route.path.startswith("/api/") or route.path in open_ones:
            continue
        if route.path in {"/api/crowd/arrivals", "/api/crowd/me"} or route.path.startswith("/api/crowd/me/"):
            continue
        if route.path.startswith("/api/open-studies"):
            continue
        path = route.path
        for name in ("person", "study", "session", "episode", "token"):
            path = path.replace("{" + name + "}", other).replace("{" + name + ":uuid}", other)
        for method in route.methods or ():
            answer = walks.client.request(method, path, headers=eve.headers, content=b"{}")
            assert answer.status_code == 403, (method, path, answer.text)
            tried += 1
    assert tried > 40
    assert eve.me()["id"] == person


def test_seats_and_sessions_of_others_are_refused(walks: Studio) -> None:
    """A token that was copied, the lobby of others, a session without an assignment."""
    (ann, _), (eve, _) = player(walks), player(walks)
    token = ann.enter()
    with walks.client.websocket_connect(URL, headers=eve.headers) as socket:
        window = Window(socket)
        window.say("hello", token=token)
        assert window.until("error")["code"] == "account"
    desk = walks.state.parts.desk
    study = desk.games["walk"]
    body = {"study": study.study, "environment": study.environment.id}
    assert walks.client.post("/api/sessions", json=body, headers=eve.headers).status_code == 403


def test_values_bonus_and_pace_that_a_browser_states_mean_nothing(walks: Studio) -> None:
    """Unknown fields are refused, and what is counted is what the recording has; the speed cannot be changed."""
    eve, person = player(walks)
    for body in ({"score": 1e9}, {"early": False, "earned": {"completion": 1.0}}, {"completion": 1}):
        eve.is_refused(400, "invalid", "POST", "me/finish", body)
    eve.is_refused(409, "incomplete", "POST", "me/finish", {})
    with eve.playing() as window:
        window.begin()
        window.say("rate", fps=60.0)
        assert "the speed is fixed" in window.until("error")["message"]
        window.say("reward", value=1e6, step=0)
        window.press("ArrowRight", 1)
    assert ok(eve.ask("GET", "me/values"))["earned"]["total"] == "0.00"
    here = eve.go("finish", early=True)
    assert here["earned"] == {**here["earned"], "completion": 0.2, "total": "0.00"}
    assert walks.state.parts.desk[person].code_hash is None


def test_steps_cannot_be_left_out_repeated_or_taken_back(walks: Studio) -> None:
    """From each stage, what belongs to another is refused, and changes nothing."""
    eve = visitor(walks)
    steps = {
        "answers": {"answers": {"age": 30}},
        "device": GOOD,
        "instructed": {},
        "check": {"answers": {"goal": "to the right"}},
        "place": {},
        "finish": {"early": True},
        "leave": {},
        "enter": {},
    }
    here = eve.come()
    for name, body in steps.items():
        assert eve.ask("POST", f"me/{name}", body).status_code == 409, name
    eve.is_refused(409, "refused", "POST", "me/consent", {"accepted": "0" * 64})
    assert eve.me()["stage"] == "consent"
    eve.go("consent", accepted=here["consent"]["hash"])
    eve.is_refused(409, "refused", "POST", "me/consent", {"accepted": here["consent"]["hash"]})
    assert eve.come(f="email")["id"] == here["id"]  # nor does another way to come
    assert eve.come("cards")["id"] == here["id"]  # the group of another link changes nothing
    assert walks.state.parts.desk[here["id"]].person.group == "main"
    visitor(walks).is_refused(409, "refused", "POST", "arrivals", arriving("nowhere", f="email"))
    eve.is_refused(400, "link", "POST", "arrivals", arriving(f="nowhere"))


def test_c50_a_group_without_cards_lets_nobody_choose_and_cards_are_those_of_the_group(walks: Studio) -> None:
    """The task follows from the rows."""
    eve, ann = visitor(walks), visitor(walks)
    eve.to_the_lobby()
    assert eve.go("place", task="stroll")["game"]["title"] == "A walk"
    ann.to_the_lobby("cards", f="email")
    assert [each["name"] for each in ann.me()["cards"]] == ["walk", "stroll"]
    ann.is_refused(409, "refused", "POST", "me/place", {"task": "nothing"})
    assert ann.go("place", task="stroll")["game"]["title"] == "A stroll"


def test_who_took_part_cannot_again_and_who_failed_the_check_is_out(walks: Studio) -> None:
    """With the same id of the platform, in any browser; a task may say otherwise."""
    eve = visitor(walks)
    known = {"PROLIFIC_PID": "eve", "STUDY_ID": "s", "SESSION_ID": "1"}
    eve.come(**known)
    eve.go("consent", accepted=eve.me()["consent"]["hash"])
    eve.go("answers", answers={"age": 30})
    eve.go("device", **GOOD)
    for stage in ("instructions", "sent away"):
        eve.go("instructed")
        assert eve.go("check", answers={"goal": "nowhere"})["stage"] == stage
    assert eve.come(**known)["stage"] == "sent away"
    again = {**known, "SESSION_ID": "2"}
    assert "took part" in visitor(walks).is_refused(409, "refused", "POST", "arrivals", arriving(**again))
    ann = visitor(walks)
    ann.to_the_lobby("cards", f="email")
    ann.go("place", task="stroll")
    ann.walk(3)
    ann.go("finish")
    done = ann.go("answers", answers={})
    assert (done["stage"], done["can_play_again"]) == ("done", True)
    second = ann.me(ann.ask("POST", "arrivals", {**arriving("cards", f="email"), "again": True}))
    assert second["id"] != done["id"]
    boss = experimenter(walks)
    boss.is_refused(404, "not_found", "POST", "/api/crowd/codes", {"code": "2222-2222-2222-2222"})


def test_a_device_or_a_link_that_will_not_do_is_sent_away_with_the_reasons(walks: Studio) -> None:
    """All of them at once."""
    eve = visitor(walks)
    eve.come()
    eve.go("consent", accepted=eve.me()["consent"]["hash"])
    eve.go("answers", answers={"age": 30})
    here = eve.go("device", width=300, height=200, has_keyboard=False, latency_ms=400.0)
    assert here["stage"] == "sent away"
    for part in ("at least 800", "keyboard", "up to 150 ms, got 400"):
        assert part in here["reason"]


def test_pages_of_others_and_designers_with_a_link_are_refused(walks: Studio) -> None:
    """A page elsewhere cannot begin for somebody, and a designer does not lose the login."""
    answer = walks.client.post("/api/crowd/arrivals", json=arriving(), headers={"Origin": "https://evil.example"})
    assert answer.status_code == 403
    boss = experimenter(walks)
    boss.is_refused(409, "other_login", "POST", "/api/crowd/arrivals", arriving())
    walks.person(Role.PARTICIPANT).is_refused(409, "other_login", "POST", "/api/crowd/arrivals", arriving())
