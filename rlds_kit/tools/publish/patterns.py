"""Regular expressions that match e-mail addresses and the like, in the names and the texts of fields.

They only find common mistakes: a match does not prove that there are such data, and no match does not prove the
opposite. A pattern with a name and a value
needs both. Names are compared as lower-case words: "playerName" and "player_name" are both "player name".
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

E_MAIL: Final = "e-mail address"
IP: Final = "IP address"
USER: Final = "user name"
PERSON: Final = "full name"
PHONE: Final = "phone number"
SECRET: Final = "token, cookie or password"  # noqa: S105  a kind of data
HOME: Final = "home directory"
HOST: Final = "host name"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to match a kind of data.

    Attributes:
      kind: of the data.
      name: searched in the words of a field's name; "" matches all.
      value: searched in a text; "" matches all.
      confirm: called with the text that `value` matched.
      numbers: whether numbers match by their field's name, such as a phone number stored as an int.
      unless: searched in the words of a field's name and of its parent's; a match excludes the field.
    """

    kind: str
    name: str = ""
    value: str = ""
    confirm: Callable[[str], bool] = lambda _: True
    numbers: bool = False
    unless: str = "(?!)"

    def matches_name(self, name: str, parent: str) -> bool:
        """Whether the name of a field, alone or after its parent's name, matches."""
        names = (words(name), words(f"{parent} {name}"))
        return any(re.search(self.name, each) for each in names) and not any(
            re.search(self.unless, each) for each in names
        )

    def matches_value(self, text: str) -> bool:
        """Whether a text matches."""
        return any(self.confirm(found[0]) for found in re.finditer(self.value, text))


def _is_address(text: str) -> bool:
    """Whether this is an IP address of one machine, unlike 127.0.0.1."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified or address.is_multicast)


def _is_phone(text: str) -> bool:
    """Whether this has as many digits as phone numbers (ITU-T E.164, section 6), and is no decimal fraction."""
    digits = sum(character.isdigit() for character in text)
    return 8 <= digits <= 15 and re.fullmatch(r"\+\d+\.\d+", text) is None


# `(?<!...)` at the start and `++` keep the time linear in long runs of letters.
_HOMES: Final = (
    r"(?<![\w.])(?:/(?:data|export|fs|mnt|net|nfs|scratch|shared|srv|storage))?/(?:home|Users)/(?!Shared\b)[^/\s:\"']+"
    r"|\b[A-Za-z]:\\+Users\\+(?!Public\b)[^\\\s]+"
)
_FULL_NAME: Final = r"^[^\W\d_a-z][\w'.-]*(?: (?:d[aeiu]|v[ao]n|de[nr]|l[ae]|el|al|bin))*(?: [^\W\d_a-z][\w'.-]*){1,3}$"
_IP_NAME: Final = r"\bip(?: ?v[46])?(?: ?addr(?:ess)?)?$|\bremote addr(?:ess)?\b"
_WORKER_ID: Final = r"\b(?:user|worker|participant|subject|annotator|account|turk|prolific) ?p?id\b"
_PEOPLE: Final = r"\b(?:player|person|human|annotator|participant|subject|operator|pilot|author|recorded by)\b"
_TOKENS: Final = (  # prefixes of issuers, JSON Web Tokens (RFC 7519), private keys (RFC 7468)
    r"\b(?:hf_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-)[\w-]{16,}|\bAKIA[0-9A-Z]{16}\b"
    r"|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_HEADERS: Final = r"(?i)\b(?:set-cookie|cookie|authorization)\s*:\s*\S{6,}|\bbearer [\w.~+/-]{16,}"
_CREDENTIALS: Final = (
    r"\b(?:pass ?word|pass ?phrase|secret|cookies?|api ?key|session ?id|credentials?)\b"
    r"|\b(?:access|auth|api|refresh|session|bearer|csrf|id|hf) ?token\b|^token$"
)
_HOST_NAME: Final = r"\bhost ?name\b|^host$|^node ?name$|^machine(?: ?name)?$|^fqdn$|\bcomputer ?name\b"

PATTERNS: Final = (
    Pattern(E_MAIL, value=r"(?<![\w.%+-])[\w.%+-]++@(?:[\w-]+\.)+[^\W\d_]{2,}"),
    Pattern(E_MAIL, name=r"\be ?mail\b"),
    Pattern(IP, value=r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\d)", confirm=_is_address, unless=r"\bversions?\b"),
    Pattern(IP, value=r"(?<![\w:.])(?=(?:[0-9A-Fa-f]*:){2})[0-9A-Fa-f:]{6,39}(?![\w:])", confirm=_is_address),
    Pattern(IP, name=_IP_NAME, numbers=True),
    Pattern(USER, name=r"\buser ?name\b|\buser(?: ?id)?$|\blog ?in\b|\b(?:nick|screen|player) ?name\b"),
    Pattern(USER, name=_WORKER_ID, numbers=True),
    Pattern(PERSON, name=r"\b(?:full|first|last|family|given|real|maiden|sur) ?name\b"),
    Pattern(PERSON, name=_PEOPLE, value=_FULL_NAME),
    Pattern(PHONE, value=r"(?<![\w.+-])\+\d[\d ().-]{6,20}\d(?!\w)", confirm=_is_phone),
    Pattern(PHONE, name=r"\b(?:tele)?phone(?: ?(?:number|no))?$|\bmobile ?number\b|^tel$", numbers=True),
    Pattern(SECRET, value=_TOKENS),
    Pattern(SECRET, value=_HEADERS),
    Pattern(SECRET, name=_CREDENTIALS),
    Pattern(HOME, value=_HOMES),
    Pattern(HOST, name=_HOST_NAME),
    Pattern(HOST, value=r"(?<![\w-])[\w-]++\.(?:local|lan|internal|intranet|corp|localdomain|home\.arpa)\b"),
)


def words(name: str) -> str:
    """A name as lower-case words.

    >>> words("playerName"), words("E-Mail"), words("ip_address")
    ('player name', 'e mail', 'ip address')
    """
    apart = re.sub(r"([a-z\d])([A-Z])", r"\1 \2", name)
    return re.sub(r"[\W_]+", " ", apart).strip().lower()


def kinds_of_name(name: str, parent: str = "") -> frozenset[str]:
    """The kinds of data that match a field of numbers, by its name.

    >>> sorted(kinds_of_name("phone")), sorted(kinds_of_name("email"))
    (['phone number'], [])
    """
    return frozenset(each.kind for each in PATTERNS if each.numbers and each.matches_name(name, parent))


def kinds_of_text(name: str, text: str, parent: str = "") -> frozenset[str]:
    """The kinds of data that match a text.

    Args:
      name: of the field.
      text: in the field.
      parent: the name of the dict with the field: `name` in `user` is a user name.

    >>> sorted(kinds_of_text("note", "ask ada@example.org")), sorted(kinds_of_text("note", "a fine game"))
    (['e-mail address'], [])
    >>> sorted(kinds_of_text("name", "ada", parent="user"))
    ['user name']
    """
    found = (each.kind for each in PATTERNS if each.matches_name(name, parent) and each.matches_value(text))
    return frozenset(found) if text else frozenset()
