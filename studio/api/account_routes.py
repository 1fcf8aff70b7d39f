"""Logging in and out, and inviting people."""

import contextlib
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.base.rate_limit import RateLimiter
from rlds_kit.studio.accounts import login
from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.accounts.permissions import Action, require
from rlds_kit.studio.accounts.signing import BadTokenError
from rlds_kit.studio.api import models
from rlds_kit.studio.api.answer import answer
from rlds_kit.studio.api.body import read
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.api.guard import account_of, address_of
from rlds_kit.studio.database import tokens
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.database.tokens import Kind

with needs("studio"):
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

_DAY: Final = 86400.0


async def log_in(request: Request) -> Response:
    """Logs a user in; the response sets the cookie."""
    given = await read(request, models.Login)
    kind, token = (None, "") if given.token is None else _read_token(request, given.token)
    limiter: RateLimiter = request.app.state.logins
    # A signed token cannot be guessed: other clients at the same address cannot lock its owner out.
    if seconds := limiter.wait(f"token {token}" if token else address_of(request)):
        message = f"too many logins from your address; try again in {seconds:.0f} seconds"
        raise ApiError(429, "too_many", message, retry_seconds=seconds)
    if given.token is not None and kind is None:
        raise BadTokenError("this link was not made by this studio, or is not complete; ask for a new one")
    done = await _log_in(request, given, kind, token)
    text = request.app.state.signer.sign(Kind.ACCESS, done.token.id)
    response = answer({"account": _shown(done.account), "token": text})
    response.set_cookie(
        request.app.state.signer.cookie,
        text,
        max_age=int(login.LOGIN_SECONDS),
        httponly=True,
        samesite="strict",
        secure=request.app.state.settings.is_secure or request.url.scheme == "https",
    )
    return response


def _read_token(request: Request, text: str) -> tuple[Kind | None, str]:
    """The id of a link or of another login; None: the text is neither."""
    for kind in (Kind.LINK, Kind.ACCESS):
        with contextlib.suppress(BadTokenError):
            return kind, request.app.state.signer.read(kind, text)
    return None, ""


async def _log_in(request: Request, given: models.Login, kind: Kind | None, token: str) -> login.Login:
    state = request.app.state
    if kind is not None:
        _require_same(request, await state.database.run(login.identify, token, kind))
        return await state.database.run(login.by_token, token, kind)  # type: ignore[no-any-return]
    if given.invitation is not None:
        invitation = state.signer.read(Kind.INVITATION, given.invitation)
        return await state.database.run(login.by_invitation, invitation, given.name, given.email)  # type: ignore[no-any-return]
    return await state.database.run(login.by_study, given.study, given.name or "", given.participant)  # type: ignore[no-any-return]


def _require_same(request: Request, wanted: Account) -> None:
    """Refuses a link of another account: a person who follows it would record in the account of its sender."""
    present: Account | None = request.scope.get("account")
    if present is not None and present.id != wanted.id:
        name = present.name or f"a {present.role.value}"
        raise ApiError(
            409, "other_login", f"you are logged in as {name}, and this link is of another account; log out first"
        )


async def log_out(request: Request) -> Response:
    """Ends the login of this browser."""
    account = account_of(request)
    await request.app.state.database.run(tokens.revoke, account.token_id)
    response = answer({})
    response.delete_cookie(request.app.state.signer.cookie, httponly=True, samesite="strict")
    return response


async def me(request: Request) -> Response:
    """The account that is logged in."""
    return answer({"account": _shown(account_of(request))})


async def invite(request: Request) -> Response:
    """Makes the token of an invitation link."""
    account = account_of(request)
    require(account, Action.INVITE)
    given = await read(request, models.Invitation)
    seconds = given.days * _DAY
    made = await request.app.state.database.run(login.invite, account.id, Role(given.role), given.uses, seconds)
    text = request.app.state.signer.sign(Kind.INVITATION, made.id)
    return answer({"invitation": text, "expires_ns": made.expires_ns, "uses": made.uses_left}, 201)


async def list_tokens(request: Request) -> Response:
    """The account's own valid links, logins and invitations; their ids alone are not enough to log in."""
    account = account_of(request)
    found = await request.app.state.database.run(tokens.valid, account.id)
    return answer({"tokens": [_shown_token(each, account) for each in found]})


async def revoke(request: Request) -> Response:
    """Revokes one of the account's own links, logins or invitations."""
    await request.app.state.database.run(tokens.revoke, request.path_params["token"], account_of(request).id)
    return answer({})


def _shown_token(token: tokens.Token, account: Account) -> dict[str, Any]:
    return {
        "id": token.id,
        "kind": token.kind.value,
        "role": None if token.role is None else token.role.value,
        "created_ns": token.created_ns,
        "expires_ns": token.expires_ns,
        "uses": token.uses_left,
        "is_this": token.id == account.token_id,
    }


def _shown(account: Account) -> dict[str, Any]:
    return {"id": account.id, "role": account.role.value, "name": account.name}


ROUTES: Final = [
    Route("/api/login", log_in, methods=["POST"]),
    Route("/api/logout", log_out, methods=["POST"]),
    Route("/api/me", me, methods=["GET"]),
    Route("/api/invitations", invite, methods=["POST"]),
    Route("/api/tokens", list_tokens, methods=["GET"]),
    Route("/api/tokens/{token}", revoke, methods=["DELETE"]),
]
