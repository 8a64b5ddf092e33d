"""Both codecs say the same."""

import json

import pytest

from volcano.client import codec

VALUES = [
    {"a": [1, 2.5, -0.0, 1e300, True, None], "b": {}, "c": "é \u2028 \x00 \U0001f30b"},
    [],
    "text",
    2**63,
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_what_one_writes_the_other_reads(value: object) -> None:
    for encode in (codec.encode, codec.encode_light):
        assert json.loads(encode(value)) == value
        for decode in (codec.decode, codec.decode_light):
            assert decode(encode(value)) == value


@pytest.mark.parametrize("decode", [codec.decode, codec.decode_light])
@pytest.mark.parametrize("data", [b"", b"{", b"{'a': 1}", b"\xff\xfe{", b'"\xff"', b"[1] x"])
def test_what_is_no_json_is_a_value_error(decode: codec.Decode, data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the texts are the libraries'
        decode(data)
