"""The wire format of protobuf: bytes into numbered values. Knows no messages."""

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_VARINT_BYTES_MAX = 10


class ProtobufError(ValueError):
    """The bytes are no message of the expected type."""


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field in a message, in order; fixed-width values as their bytes.

    Raises:
        ProtobufError: the bytes end too early, or use a wire type that is not in use.
    """
    position, end = 0, len(data)
    while position < end:
        key, position = varint(data, position)
        number, wire_type = key >> 3, key & 7
        if wire_type == VARINT:
            value, position = varint(data, position)
            yield number, value
            continue
        if wire_type == BYTES:
            length, position = varint(data, position)
        elif wire_type in (FIXED64, FIXED32):
            length = 8 if wire_type == FIXED64 else 4
        else:
            raise ProtobufError(f"field {number} has wire type {wire_type}")
        if position + length > end:
            raise ProtobufError(f"field {number} ends after the message")
        yield number, data[position : position + length]
        position += length


def varint(data: bytes, position: int) -> tuple[int, int]:
    """The number at a position, and the position after it."""
    result = 0
    for count in range(_VARINT_BYTES_MAX):
        if position + count >= len(data):
            raise ProtobufError("a number ends after the message")
        byte = data[position + count]
        result |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return result, position + count + 1
    raise ProtobufError("a number is too long")


def signed(value: int, bits: int) -> int:
    """A varint as a signed number of so many bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def double(data: bytes) -> float:
    """A fixed-width number with 64 bits."""
    if len(data) != 8:
        raise ProtobufError("a double is 8 bytes long")
    return float(struct.unpack("<d", data)[0])
