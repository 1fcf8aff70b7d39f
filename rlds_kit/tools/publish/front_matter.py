"""The YAML at the top of a dataset card, which describes the dataset to the hub.

https://huggingface.co/docs/hub/datasets-cards; every value is written as JSON, which is YAML too.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from rlds_kit.dataset.hub import TAG
from rlds_kit.tools.publish.facts import Facts
from rlds_kit.tools.publish.licence import licence_of
from rlds_kit.tools.publish.provenance import environment_ids

_SIZES: Final = (
    (10**3, "n<1K"),
    (10**4, "1K<n<10K"),
    (10**5, "10K<n<100K"),
    (10**6, "100K<n<1M"),
    (10**7, "1M<n<10M"),
    (10**8, "10M<n<100M"),
    (10**9, "100M<n<1B"),
    (10**10, "1B<n<10B"),
    (10**11, "10B<n<100B"),
    (10**12, "100B<n<1T"),
)


def front_matter(facts: Facts) -> str:
    """The YAML block, including its lines of dashes."""
    licence = licence_of(facts.about.licence)
    entries: dict[str, Any] = {"license": licence.hub_id}
    if licence.hub_id == "other":
        entries["license_name"] = slug(licence.text)
        entries["license_link"] = licence.url or "README.md#licence"
    entries |= {
        "pretty_name": facts.about.name,
        "task_categories": ["reinforcement-learning"],
        "tags": ["rlds", TAG, "episodes", *(slug(one) for one in environment_ids(facts.origins))],
        "size_categories": [size_category(facts.statistics.steps)],
        "viewer": False,  # the hub's viewer supports only tables
    }
    return f"---\n{_yaml(entries)}---\n"


def size_category(steps: int) -> str:
    """The hub's name for a number of steps.

    >>> size_category(999), size_category(1000), size_category(3 * 10**12)
    ('n<1K', '1K<n<10K', 'n>1T')
    """
    return next((name for limit, name in _SIZES if steps < limit), "n>1T")


def _yaml(entries: Mapping[str, Any]) -> str:
    lines = []
    for key, entry in entries.items():
        if isinstance(entry, list):
            lines += [f"{key}:", *(f"- {json.dumps(item, ensure_ascii=False)}" for item in entry)]
        else:
            lines.append(f"{key}: {json.dumps(entry, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"


def slug(text: str) -> str:
    """A short name of letters, digits and dashes.

    >>> slug("ALE/Breakout-v5")
    'ale-breakout-v5'
    """
    return re.sub(r"[^\w.]+", "-", text.strip().lower())[:60].strip("-") or "other"
