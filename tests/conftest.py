"""What every test shares: the event loop that async tests run on, and how much is fuzzed."""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("normal", max_examples=500, deadline=None)
settings.register_profile(
    "deep", max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "hostile", max_examples=5_000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "normal"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
