"""JSON to bytes and back in two ways: quick once loaded (msgspec), or quick to load (json).

msgspec is several times as fast on each object, which is what a long-lived client wants; loading it
takes a command line longer than all the objects it will ever see.
"""

import json
from collections.abc import Callable
from typing import Any

Encode = Callable[[Any], bytes]
"""JSON of a value."""

Decode = Callable[[bytes], Any]
"""The value in JSON; `ValueError` when it is none."""

_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def encode(value: Any) -> bytes:
    """JSON by msgspec, which is imported at the first call."""
    import msgspec

    return msgspec.json.encode(value)


def decode(data: bytes) -> Any:
    """A value by msgspec, which is imported at the first call."""
    import msgspec

    return msgspec.json.decode(data)


def encode_light(value: Any) -> bytes:
    """JSON by the standard library."""
    return _encoder.encode(value).encode("ascii")


def decode_light(data: bytes) -> Any:
    """A value by the standard library."""
    return json.loads(data)
