"""Fields and metadata that an export leaves out, by name."""

from collections.abc import Mapping
from typing import Any, Final

INTERNAL_FIELDS: Final = ("play", "trial_clock", "picture", "info", "time_ns", "keys", "image", "shown_frame")
"""Fields of steps that are left out where an export is stripped.

"play" has keys, shown frames, who acted and the messages between seats; "picture" is what was shown; "info" is what
an environment returns beside the observation; "time_ns" and "trial_clock" show how fast a person was. RLDS Creator's
own recordings call them "keys", "image" and "info".
"""
PERSONAL: Final = frozenset(
    """user user_id user_name username account account_id person participant participant_id worker worker_id holder
    email e_mail name_of_user ip ip_address address session session_id token judgements prolific_id assignment_id
    hostname""".split()  # noqa: SIM905  a table is clearer as text
)
"""Metadata, and entries of nests in metadata and steps, that are always left out.

Episodes have public ids instead: `public_id` and `agent_id`. "judgements" names who gave which reward; rewards
themselves are in layers.
"""


def without_personal(value: Any) -> Any:
    """A value without entries that identify a person, however deep they are.

    >>> without_personal({"score": 3, "user": "ann", "more": [{"E-mail": "ann@example.org"}]})
    {'score': 3, 'more': [{}]}
    """
    if isinstance(value, Mapping):
        return {key: without_personal(item) for key, item in value.items() if not is_personal(key)}
    if type(value) in {list, tuple}:
        return type(value)(without_personal(item) for item in value)
    return value


def is_personal(name: Any) -> bool:
    """Whether an entry of this name identifies a person.

    >>> is_personal("User-ID"), is_personal("agent_id")
    (True, False)
    """
    return isinstance(name, str) and name.casefold().replace("-", "_").replace(" ", "_") in PERSONAL
