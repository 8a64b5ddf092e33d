"""How a process of ours is told to stop: SIGINT (Ctrl-C) and SIGTERM, as an event on its loop."""

import asyncio
import signal


def stopped_by_signals() -> asyncio.Event:
    """An event of the running loop that is set by SIGINT and SIGTERM from now on."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    return stopped
