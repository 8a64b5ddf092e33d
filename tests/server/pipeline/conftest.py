"""One fresh server in memory for each test."""

from collections.abc import AsyncIterator

import pytest

from tests.server.harness import Caller, running


@pytest.fixture
async def admin() -> AsyncIterator[Caller]:
    async with running() as caller:
        yield caller
