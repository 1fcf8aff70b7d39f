"""The description of a dataset: name, licence, citation, and the published `dataset.json` that contains them."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from rlds_kit.base.errors import FormatError
from rlds_kit.storage import directory as directories
from rlds_kit.tools.publish.errors import Problem

REQUIRED: Final = ("licence", "citation")


@dataclass(frozen=True, slots=True)
class About:
    """The description of a dataset, for people and for catalogues of datasets.

    Attributes:
      name: of the dataset.
      description: a few sentences, in Markdown if need be.
      citation: how to cite it: BibTeX, or a line of text.
      licence: an SPDX identifier such as "CC-BY-4.0", an address, or a text.
      homepage: an address.
    """

    name: str = ""
    description: str = ""
    citation: str = ""
    licence: str = ""
    homepage: str = ""

    def completed(self, directory: Path) -> Self:
        """Fills empty values from `dataset.json`; a dataset without a name gets the name of its folder."""
        try:
            stored = directories.description(directory)
        except FormatError:
            stored = {}  # the checks report it
        given = {key: item.strip() for key, item in asdict(self).items()}
        found = {key: item or str(stored.get(key) or "").strip() for key, item in given.items()}
        return type(self)(**{**found, "name": found["name"] or directory.resolve().name})

    def problems(self) -> list[Problem]:
        """Lists the required values that are missing."""
        return [
            Problem(
                key,
                f"dataset.json has no {key}",
                f"add it there, or give --{key}; it is written into the published copy",
            )
            for key in REQUIRED
            if not getattr(self, key)
        ]

    def described(self, content: dict[str, Any]) -> dict[str, Any]:
        """The content of the published `dataset.json`: the dataset's own, updated with these values.

        >>> About(name="pong", licence="MIT").described({"format": "rlds_kit", "name": "", "spec": {}})
        {'format': 'rlds_kit', 'name': 'pong', 'licence': 'MIT', 'spec': {}}
        """
        given = {key: item for key, item in asdict(self).items() if item}
        head: dict[str, Any] = {key: content[key] for key in ("format", "version") if key in content}
        return head | given | {key: item for key, item in content.items() if key not in given}
