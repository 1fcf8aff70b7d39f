"""Settings that every test shares."""

from hypothesis import HealthCheck, settings

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
settings.register_profile("explore", deadline=None, max_examples=2_000)
settings.load_profile("ci")
