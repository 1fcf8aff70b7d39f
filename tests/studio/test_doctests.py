"""The examples in the docstrings of accounts, database and server."""

import doctest
import importlib

import pytest

MODULES = (
    *("accounts.anonymous", "accounts.links", "accounts.permissions", "accounts.secret", "rate_limit"),
    *("accounts.signing", "database.engine", "environments.catalogue", "environments.schema", "settings"),
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"rlds_kit.studio.{name}"))
    assert (result.failed, result.attempted > 0) == (0, True)
