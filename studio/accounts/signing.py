"""Signs the ids of tokens, so that they cannot be forged."""

from typing import Final

from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.extras import needs
from rlds_kit.studio.accounts.secret import derived
from rlds_kit.studio.database.tokens import Kind

with needs("studio"):
    from itsdangerous import BadSignature, URLSafeSerializer

_LONGEST: Final = 200


class BadTokenError(RldsKitError, ValueError):
    """A token that this studio has not made."""


class Signer:
    """Signs and reads tokens of one studio.

    Args:
      secret: of the studio.

    >>> signer = Signer(b"secret")
    >>> signer.read(Kind.ACCESS, signer.sign(Kind.ACCESS, "6f9619ff"))
    '6f9619ff'
    """

    def __init__(self, secret: bytes) -> None:
        key = derived(secret, "tokens")
        self._serializers = {kind: URLSafeSerializer(key, salt=kind.value) for kind in Kind}
        self.cookie: Final = f"rlds_kit_{derived(secret, 'cookie name').hex()[:8]}"
        """Name of the login's cookie: different for each studio, as browsers do not distinguish ports of a host."""

    def sign(self, kind: Kind, token: str) -> str:
        """The text of a token, for links and cookies."""
        return str(self._serializers[kind].dumps(token))

    def read(self, kind: Kind, text: str) -> str:
        """The id of a token.

        Raises:
          BadTokenError: it is not a token of this kind and this studio.
        """
        try:
            if len(text) > _LONGEST:
                raise BadSignature("too long")
            return str(self._serializers[kind].loads(text))
        except BadSignature as error:
            raise BadTokenError("this link or login was not made by this studio, or is not complete") from error


_NAMES: Final = {Kind.LINK: "token", Kind.INVITATION: "invitation"}


def link_of(url: str, kind: Kind, token: str) -> str:
    """The URL of a login or an invitation.

    The token is in the fragment, which browsers do not send: no log contains it.

    Args:
      url: of the studio, without a slash at its end.
      kind: LINK or INVITATION.
      token: signed.

    >>> link_of("http://127.0.0.1:8642", Kind.INVITATION, "abc")
    'http://127.0.0.1:8642/#login?invitation=abc'
    """
    return f"{url}/#login?{_NAMES[kind]}={token}"
