"""Schemas of kinds: decode bodies, drop unknown fields, apply defaults, validate custom resources.

The write path calls, in this order: `decode_object`, `Schema.prune`, `Schema.apply_defaults`
(core kinds: `validation.apply_defaults`), `Schema.validate` (core kinds: `validation`).
"""

from volcano.server.schema.conform import DecodeError
from volcano.server.schema.decode import (
    cannot_handle,
    decode_json,
    decode_object,
    decode_yaml,
    strict_error,
    unrecognized,
)
from volcano.server.schema.defaults import copy_json
from volcano.server.schema.node import Compiler, Node
from volcano.server.schema.schema import Schema

__all__ = [
    "Compiler",
    "DecodeError",
    "Node",
    "Schema",
    "cannot_handle",
    "copy_json",
    "decode_json",
    "decode_object",
    "decode_yaml",
    "strict_error",
    "unrecognized",
]
