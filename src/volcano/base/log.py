"""Configures structlog; modules call `structlog.get_logger(__name__)` themselves."""

import logging
import sys
from typing import TextIO

import structlog


def configure(level: str = "info", stream: TextIO | None = None, *, json: bool = False) -> None:
    """Send logs to `stream` (default stderr): one line an event, JSON or readable.

    Args:
        level: lowest level written: debug, info, warning or error.
        stream: where lines go.
        json: write JSON lines instead of coloured text.
    """
    target = stream or sys.stderr
    renderer: structlog.types.Processor = (
        structlog.processors.JSONRenderer()
        if json
        else structlog.dev.ConsoleRenderer(colors=target.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        logger_factory=structlog.PrintLoggerFactory(target),
        cache_logger_on_first_use=True,
    )
