"""Waiting for whichever comes first."""

import asyncio
from collections.abc import Coroutine


async def first_of(*waits: Coroutine[object, object, object]) -> None:
    """Return once one of these has ended; the others are cancelled."""
    waiters = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(waiters, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiters:
            waiter.cancel()
