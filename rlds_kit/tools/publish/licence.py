"""Licences by the names that catalogues use: SPDX identifiers, and the hub's own.

https://spdx.org/licenses, https://huggingface.co/docs/hub/repositories-licenses
"""

from typing import Final, NamedTuple

_SPDX: Final = (
    *("AGPL-3.0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0"),
    *("CC-BY-2.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-SA-3.0", "CC-BY-SA-4.0", "CC-BY-ND-4.0"),
    *("CC-BY-NC-2.0", "CC-BY-NC-3.0", "CC-BY-NC-4.0", "CC-BY-NC-SA-3.0", "CC-BY-NC-SA-4.0", "CC-BY-NC-ND-4.0"),
    *("CDLA-Permissive-1.0", "CDLA-Permissive-2.0", "CDLA-Sharing-1.0", "ECL-2.0", "EPL-2.0", "EUPL-1.1"),
    *("GPL-2.0", "GPL-3.0", "ISC", "LGPL-2.1", "LGPL-3.0", "MIT", "MPL-2.0", "MS-PL", "NCSA", "OSL-3.0"),
    *("ODbL-1.0", "ODC-By-1.0", "PDDL-1.0", "PostgreSQL", "Unlicense", "WTFPL", "Zlib"),
)
_HUB_NAMES: Final = {"odbl-1.0": "odbl", "odc-by-1.0": "odc-by", "pddl-1.0": "pddl"}
_SUFFIXES: Final = ("-only", "-or-later")


class Licence(NamedTuple):
    """A licence with its names in several catalogues.

    Attributes:
      text: as given, or the SPDX identifier.
      url: of its text; empty if unknown.
      hub_id: the hub's identifier; "other" for licences that the hub does not list.
    """

    text: str
    url: str
    hub_id: str


def licence_of(text: str) -> Licence:
    """Recognises a licence.

    Args:
      text: an SPDX identifier in any case, an address, or a text.

    >>> licence_of("cc-by-4.0")
    Licence(text='CC-BY-4.0', url='https://spdx.org/licenses/CC-BY-4.0.html', hub_id='cc-by-4.0')
    >>> licence_of("ask us").hub_id
    'other'
    """
    key = text.strip().lower().replace(" ", "-")
    for suffix in _SUFFIXES:
        key = key.removesuffix(suffix)
    for known in _SPDX:
        if key in {known.lower(), _HUB_NAMES.get(known.lower())}:
            hub_id = _HUB_NAMES.get(known.lower(), known.lower())
            return Licence(known, f"https://spdx.org/licenses/{known}.html", hub_id)
    return Licence(text, text if text.startswith(("https://", "http://")) else "", "other")
