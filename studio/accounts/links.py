"""Links that log people in."""

from typing import Final

from rlds_kit.studio.database.tokens import Kind

_NAMES: Final = {Kind.LINK: "token", Kind.INVITATION: "invitation"}


def link_of(url: str, kind: Kind, token: str) -> str:
    """What logs in, or invites. The token is in the fragment, which browsers do not send: no log has it.

    Args:
      url: of the studio, without a slash at its end.
      kind: LINK or INVITATION.
      token: signed.

    >>> link_of("http://127.0.0.1:8642", Kind.INVITATION, "abc")
    'http://127.0.0.1:8642/#login?invitation=abc'
    """
    return f"{url}/#login?{_NAMES[kind]}={token}"
