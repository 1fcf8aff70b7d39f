"""Settings that every test shares."""

from collections.abc import Callable, Generator

import pytest
from hypothesis import HealthCheck, settings

from tests.optional import skip_if_missing
from tests.repetitions import repetitions
from tests.required import fail_if_required, required_names

# The same examples on every machine and run, so that a red job can be repeated. No deadline and no complaint about slow
# generation: the machines of CI are noisy. To look for new counterexamples: pytest --hypothesis-profile=explore.
settings.register_profile(
    "ci",
    database=None,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", settings.get_profile("ci"))  # `make test-all`: sweeps make all repetitions
settings.register_profile("explore", deadline=None, max_examples=2_000)
settings.load_profile("ci")


def pytest_configure() -> None:
    """Refuse names in `RLDS_KIT_REQUIRE` that mean nothing before any test runs."""
    required_names()


@pytest.hookimpl(tryfirst=True)  # before `-m` evaluates the markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test that makes a part of its repetitions, so that `make test-all` finds it."""
    for item in items:
        if "sweep" in getattr(item, "fixturenames", ()):
            item.add_marker("sweep")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Skip a test whose library is not installed, and fail it if that is required."""
    report = yield
    skip_if_missing(report, call)
    fail_if_required(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skip a module whose library is not installed, and fail it if that is required."""
    report = yield
    skip_if_missing(report, getattr(report, "call", None))
    fail_if_required(report)
    return report


@pytest.fixture
def sweep() -> Callable[[int], int]:
    """How often to repeat what a whole sweep repeats so many times: a part in `make test`, all in `make test-all`."""
    return repetitions
