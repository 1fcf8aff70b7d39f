"""The dataset card: a README.md for people, which the hub displays."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from rlds_kit.base.quantities import count_text, size_text
from rlds_kit.base.step import FLAGS
from rlds_kit.install import how_to_install
from rlds_kit.tools.plot.panel import number_text
from rlds_kit.tools.publish.facts import QUANTILES, Distribution, Facts
from rlds_kit.tools.publish.fields import Field
from rlds_kit.tools.publish.front_matter import front_matter, slug
from rlds_kit.tools.publish.known_limits import limits
from rlds_kit.tools.publish.licence import licence_of

CAPTIONS: Final = {
    "frames.png": "Moments of the longest episode",
    "returns.png": "Returns and lengths of the episodes; dashed: medians",
    "actions.png": "Actions, those of all steps together",
}
MEANINGS: Final = {
    "observation": "what the agent saw",
    "action": "what it did then",
    "reward": "what it got for that",
    "discount": "what the value of the next step counts",
    "info": "other information of the environment",
    "time_ns": "nanoseconds since the episode began",
    "step_index": "the step's number in the environment's own count",
}
FIELDS: Final = 100
"""The most rows of a table; `rlds-kit info` shows all."""


def card(facts: Facts, address: str, pictures: Sequence[str], notes: Mapping[str, int]) -> str:
    """Writes the card.

    Args:
      facts: of the dataset.
      address: the argument for `rlds_kit.open`; empty if readers have to download the folder first.
      pictures: names of files in `card/`.
      notes: the notes of `verify`, which are no damage: how many, by rule.
    """
    about = facts.about
    sections = [
        front_matter(facts),
        f"# {about.name}\n",
        f"{about.description}\n" if about.description else "",
        _picture("frames.png", pictures),
        _summary(facts),
        "## Fields\n",
        _fields(facts),
        "## Statistics\n",
        _statistics(facts),
        _picture("returns.png", pictures),
        _picture("actions.png", pictures),
        "## Load it\n",
        _loading(address) if address else _loading_of_folder(slug(about.name)),
        "## Where it comes from\n",
        _provenance(facts),
        "## Known limits\n",
        "".join(f"- {limit}\n" for limit in limits(facts, notes)),
        "## Licence\n",
        _licence(about.licence),
        "## Citation\n",
        _block("bibtex" if about.citation.startswith("@") else "text", about.citation),
        f"Homepage: <{about.homepage}>\n" if about.homepage else "",
    ]
    return "\n".join(section for section in sections if section)


def _summary(facts: Facts) -> str:
    found = facts.statistics
    endings = ", ".join(f"{count:,} {ending}" for ending, count in sorted(found.endings.items()))
    stored = size_text(found.bytes)
    per_step = "" if found.bytes_per_step is None else f", {found.bytes_per_step:,.0f} B a step"
    return _table(
        ("", ""),
        [
            ("episodes", f"{found.episodes:,} ({endings})"),
            ("steps", f"{found.steps:,}"),
            ("size", f"{stored} in {count_text(found.shards, 'shard')}{per_step}"),
            ("format", "rlds_kit 1, Riegeli files; every value is as it was recorded, bit for bit"),
            ("content digest", f"`{facts.content_digest}`"),
        ],
    )


def _fields(facts: Facts) -> str:
    stored = {each.path: each.bytes for each in facts.statistics.fields}
    rows = [_row(field, stored, facts.lacking) for field in facts.fields[:FIELDS]]
    more = len(facts.fields) - FIELDS
    text = _table(("field", "type", "shape", "bounds", "stored", ""), rows)
    text += f"\nand {more:,} more, which `rlds-kit info` lists.\n" if more > 0 else ""
    flags = ", ".join(f"`{flag}`" for flag in FLAGS)
    return f"{text}\nEvery step also has the flags {flags}; an episode of n actions has n + 1 steps.\n"


def _row(field: Field, stored: Mapping[str, int], lacking: Collection[str]) -> tuple[str, ...]:
    meaning = MEANINGS.get(field.path, "")
    notes = "; ".join(part for part in (meaning, "not in every step" if field.path in lacking else "") if part)
    size = size_text(stored[field.path]) if field.path in stored else ""
    return (f"`{field.path}`", field.dtype, field.shape, field.bounds, size, notes)


def _statistics(facts: Facts) -> str:
    levels = ["min", *(f"{level:.0%}" for level in QUANTILES[1:-1]), "max"]
    rows = [_distribution(name, found) for name, found in facts.distributions.items()]
    return _table(("per episode", "mean", "sd", *levels), rows, rule="--:")


def _distribution(name: str, found: Distribution) -> tuple[str, ...]:
    return (name, *(number_text(number) for number in (found.mean, found.std, *found.quantiles)))


def _picture(name: str, there: Iterable[str]) -> str:
    return f"![{CAPTIONS[name]}](card/{name})\n" if name in there else ""


def _loading_of_folder(name: str) -> str:
    return f"Fetch the folder; here it is called `{name}`.\n\n{_loading(name)}"


def _loading(address: str) -> str:
    """Example code, which tests run; `address` is the argument for `rlds_kit.open`."""
    parts = [
        f"With rlds_kit ({how_to_install()}):\n",
        _block(
            "python",
            "import rlds_kit\n\n"
            f'dataset = rlds_kit.open("{address}")\n'
            'dataset.episodes[0]["reward"]  # a field of an episode is one array\n'
            'batches = dataset.transitions().batches(256, shuffle="global", seed=0)  # NumPy',
        ),
        "TensorFlow Datasets, from the same files, without a copy:\n",
        _block(
            "python",
            "import rlds_kit.tfds_builders\n\n"
            "builder = rlds_kit.tfds_builders.builder_from_directory(dataset.path)\n"
            'episodes = builder.as_dataset(split="train")',
        ),
        "PyTorch:\n",
        _block(
            "python",
            "from torch.utils.data import DataLoader\n\n"
            "loader = DataLoader(batches.as_torch_dataset(), batch_size=None)",
        ),
        "`sha256sum -c checksums.txt` checks the files, `rlds-kit verify` everything in them.\n",
    ]
    return "\n".join(parts)


def _provenance(facts: Facts) -> str:
    found = facts.origins
    rows = []
    for shown, count in found.environments.items():
        number = f" ({count:,} episodes)" if len(found.environments) > 1 else ""
        rows += [(f"environment {key}{number}", f"`{text}`") for key, text in shown]
    if found.versions:
        versions = ", ".join(f"{name} {' and '.join(sorted(each))}" for name, each in sorted(found.versions.items()))
        rows.append(("versions", versions))
    if found.first is not None and found.last is not None:
        days = dict.fromkeys(moment.strftime("%Y-%m-%d") for moment in (found.first, found.last))
        rows.append(("recorded", f"{' to '.join(days)} (UTC)"))
    of_all = "every episode" if found.seeded == facts.statistics.episodes else f"{found.seeded:,} episodes"
    rows.append(("seeds", f"known of {of_all}; different seeds: {found.seeds:,}" if found.seeded else "not known"))
    if found.metadata:
        rows.append(("episode metadata", ", ".join(f"`{key}`" for key in sorted(found.metadata))))
    return _table(("", ""), rows)


def _licence(text: str) -> str:
    licence = licence_of(text)
    return f"[{licence.text}]({licence.url})\n" if licence.url else f"{licence.text}\n"


def _block(language: str, text: str) -> str:
    """A block of code; its fence is longer than any fence inside."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}\n"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], rule: str = "---") -> str:
    """A Markdown table; `rule` is the alignment of all columns but the first: `--:` for numbers."""
    rules = ["---", *(rule for _ in headings[1:])]
    return "".join(_line(row) for row in (headings, rules, *rows))


def _line(cells: Iterable[str]) -> str:
    one_line = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(one_line)} |\n"
