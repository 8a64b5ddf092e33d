"""Fixtures and options of the whole test suite."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Async tests run on asyncio, the loop the product runs on."""
    return "asyncio"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden files")
    parser.addoption(
        "--crash-rounds", type=int, default=30, help="kill -9 rounds of the crash test"
    )
    parser.addoption("--seed", type=int, default=1, help="seed of the crash and simulation tests")
