"""The rules by which fields are taken for personal data. They are hints for a person who decides, and no proof.

A rule has a pattern for names, for values, or for both; it matches where all that it has match, unless the name is one
of those that it leaves alone. Names are compared as lower-case words: "playerName" and "player_name" are both "player
name". Add a rule here and a line to its test.
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
class Rule:
    """One way to recognise personal data.

    Attributes:
      kind: what it would be.
      name: found in the words of a field's name; None if the name does not matter.
      value: found in a text; None if any value counts.
      confirm: asked about what `value` found.
      numbers: whether values that are no text count: a phone number may be an int.
      unless: found in the words of a field's name, or of what it is in, where the rule does not count.
    """

    kind: str
    name: re.Pattern[str] | None = None
    value: re.Pattern[str] | None = None
    confirm: Callable[[str], bool] = lambda _: True
    numbers: bool = False
    unless: re.Pattern[str] | None = None


def _is_address(text: str) -> bool:
    """Whether it is an IP address of somebody: not one that every machine has, such as 127.0.0.1."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified or address.is_multicast)


def _is_phone(text: str) -> bool:
    """Whether it has as many digits as numbers have (ITU-T E.164, section 6), and is no decimal fraction."""
    digits = sum(character.isdigit() for character in text)
    return 8 <= digits <= 15 and re.fullmatch(r"\+\d+\.\d+", text) is None


RULES: Final = (
    # Long runs of letters are gone through once: (?<!...) is where they begin, and ++ does not go back in them.
    # A mailbox, wherever it stands; or a field that is called so, whatever is in it.
    Rule(E_MAIL, value=re.compile(r"(?<![\w.%+-])[\w.%+-]++@(?:[\w-]+\.)+[^\W\d_]{2,}")),
    Rule(E_MAIL, name=re.compile(r"\be ?mail\b")),
    # Four groups of digits, not within a longer version number; IPv6 with at least two colons.
    Rule(
        IP,
        value=re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]*\d)"),
        confirm=_is_address,
        unless=re.compile(r"\bversions?\b"),
    ),
    Rule(IP, value=re.compile(r"(?<![\w:.])(?=(?:[0-9A-Fa-f]*:){2})[0-9A-Fa-f:]{6,39}(?![\w:])"), confirm=_is_address),
    Rule(IP, name=re.compile(r"\bip(?: ?v[46])?(?: ?addr(?:ess)?)?$|\bremote addr(?:ess)?\b"), numbers=True),
    # Accounts, and what crowd-working sites call people by.
    Rule(USER, name=re.compile(r"\buser ?name\b|\buser(?: ?id)?$|\blog ?in\b|\b(?:nick|screen|player) ?name\b")),
    Rule(
        USER,
        name=re.compile(r"\b(?:user|worker|participant|subject|annotator|account|turk|prolific) ?p?id\b"),
        numbers=True,
    ),
    # Fields for a person's name; two capitalised words alone could be a game's.
    Rule(PERSON, name=re.compile(r"\b(?:full|first|last|family|given|real|maiden|sur) ?name\b")),
    Rule(
        PERSON,
        name=re.compile(r"\b(?:player|person|human|annotator|participant|subject|operator|pilot|author|recorded by)\b"),
        value=re.compile(
            r"^[^\W\d_a-z][\w'.-]*(?: (?:d[aeiu]|v[ao]n|de[nr]|l[ae]|el|al|bin))*(?: [^\W\d_a-z][\w'.-]*){1,3}$"
        ),
    ),
    # International form in text; a field that is called so also as a number.
    Rule(PHONE, value=re.compile(r"(?<![\w.+-])\+\d[\d ().-]{6,20}\d(?!\w)"), confirm=_is_phone),
    Rule(PHONE, name=re.compile(r"\b(?:tele)?phone(?: ?(?:number|no))?$|\bmobile ?number\b|^tel$"), numbers=True),
    # Prefixes that the issuers give so that tokens can be found; JSON Web Tokens (RFC 7519); private keys (RFC 7468).
    Rule(SECRET, value=re.compile(r"\b(?:hf_|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-)[\w-]{16,}")),
    Rule(
        SECRET, value=re.compile(r"\bAKIA[0-9A-Z]{16}\b|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}|-----BEGIN [A-Z ]*PRIVATE KEY")
    ),
    Rule(
        SECRET,
        value=re.compile(r"\b(?:set-cookie|cookie|authorization)\s*:\s*\S{6,}|\bbearer [\w.~+/-]{16,}", re.IGNORECASE),
    ),
    Rule(SECRET, name=re.compile(r"\b(?:pass ?word|pass ?phrase|secret|cookies?|api ?key|session ?id|credentials?)\b")),
    Rule(SECRET, name=re.compile(r"\b(?:access|auth|api|refresh|session|bearer|csrf|id|hf) ?token\b|^token$")),
    # The folder of a user, on Linux, clusters, macOS and Windows; it holds the user's name.
    Rule(
        HOME,
        value=re.compile(
            r"(?<![\w.])(?:/(?:data|export|fs|mnt|net|nfs|scratch|shared|srv|storage))?"
            r"/(?:home|Users)/(?!Shared\b)[^/\s:\"']+"
        ),
    ),
    Rule(HOME, value=re.compile(r"\b[A-Za-z]:\\+Users\\+(?!Public\b)[^\\\s]+")),
    # Machines often bear the name of who owns them. Names under which no public machine is known.
    Rule(HOST, name=re.compile(r"\bhost ?name\b|^host$|^node ?name$|^machine(?: ?name)?$|^fqdn$|\bcomputer ?name\b")),
    Rule(HOST, value=re.compile(r"(?<![\w-])[\w-]++\.(?:local|lan|internal|intranet|corp|localdomain|home\.arpa)\b")),
)


def words(name: str) -> str:
    """A name as lower-case words.

    >>> words("playerName"), words("E-Mail"), words("ip_address")
    ('player name', 'e mail', 'ip address')
    """
    apart = re.sub(r"([a-z\d])([A-Z])", r"\1 \2", name)
    return re.sub(r"[\W_]+", " ", apart).strip().lower()


def kinds_of_name(name: str, within: str = "") -> frozenset[str]:
    """What a field of this name would hold if it is a number.

    Args:
      name: of the field.
      within: the name of what it is in.

    >>> sorted(kinds_of_name("phone")), sorted(kinds_of_name("email"))
    (['phone number'], [])
    """
    numbers = (rule for rule in RULES if rule.numbers and rule.value is None)
    return frozenset(rule.kind for rule in numbers if rule.name is not None and _is_meant(rule, name, within))


def kinds_of_text(name: str, text: str, within: str = "") -> frozenset[str]:
    """What a text looks like, in a field of this name.

    Args:
      name: of the field.
      text: that it holds.
      within: the name of what it is in: `name` in `user` is a user's name.

    >>> sorted(kinds_of_text("note", "ask ada@example.org")), sorted(kinds_of_text("note", "a fine game"))
    (['e-mail address'], [])
    >>> sorted(kinds_of_text("name", "ada", within="user"))
    ['user name']
    """
    found = (rule.kind for rule in RULES if _is_meant(rule, name, within) and _matches(rule, text))
    return frozenset(found) if text else frozenset()


def _is_meant(rule: Rule, name: str, within: str) -> bool:
    """Whether a rule is for fields of this name."""
    names = (words(name), words(f"{within} {name}"))
    if rule.unless is not None and any(map(rule.unless.search, names)):
        return False
    return rule.name is None or any(map(rule.name.search, names))


def _matches(rule: Rule, text: str) -> bool:
    return rule.value is None or any(rule.confirm(found[0]) for found in rule.value.finditer(text))
