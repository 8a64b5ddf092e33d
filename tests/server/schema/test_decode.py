"""Bodies: Go's words for broken JSON, duplicate fields, YAML as Kubernetes reads it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano.base.errors import ApiError
from volcano.server.schema import (
    DecodeError,
    cannot_handle,
    decode_json,
    decode_object,
    decode_yaml,
    strict_error,
)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"a":', "unexpected end of JSON input"),
        (b"{a:1}", "invalid character 'a' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"foo", "invalid character 'o' in literal false (expecting 'a')"),
        (b"{}x", "invalid character 'x' after top-level value"),
        (b'{"a": ]}', "invalid character ']' looking for beginning of value"),
    ],
)
def test_broken_json(body, message):
    with pytest.raises(DecodeError) as caught:
        decode_json(body)
    assert str(caught.value) == message


def test_duplicates_are_named_and_the_last_value_wins():
    value, duplicates = decode_json(b'{"spec": {"a": 1, "a": 2}, "l": [{"b": 1, "b": 1}]}')
    assert value == {"spec": {"a": 2}, "l": [{"b": 1}]}
    assert duplicates == ['duplicate field "spec.a"', 'duplicate field "l[0].b"']


@given(st.recursive(st.text() | st.integers() | st.none(), lambda i: st.dictionaries(st.text(), i)))
def test_no_duplicates_where_there_are_none(value):
    for body in (json.dumps(value), json.dumps(value, indent=1, ensure_ascii=False)):
        assert decode_json(body.encode("utf-8", "surrogatepass")) == (value, [])


def test_yaml_keeps_dates_as_texts_and_names_duplicates():
    value, duplicates = decode_yaml(b"a: 2020-01-01\nb: 1\nb: true\n")
    assert value == {"a": "2020-01-01", "b": True}
    assert duplicates == ['line 3: key "b" already set in map']


def test_broken_yaml():
    with pytest.raises(DecodeError, match="error converting YAML to JSON: yaml: line 2"):
        decode_yaml(b"a: b\n  c: d\n")


def test_a_body_that_is_no_object():
    with pytest.raises(ApiError) as caught:
        decode_object(b"[1]", "Pod")
    assert caught.value.code == 400
    assert caught.value.message.startswith(
        "the object provided is unrecognized (must be of type Pod): couldn't get version/kind; "
        "json parse error: json: cannot unmarshal array into Go value"
    )
    assert caught.value.message.endswith("(5b315d)")


def test_a_long_broken_body_is_summed_up():
    with pytest.raises(ApiError) as caught:
        decode_object(b'{"kind": "Pod", "metadata": {"name": oops}}', "Pod")
    assert caught.value.message.endswith('({"kind": "Pod", "metadata": {" ...)')


def test_strict_answer():
    error = cannot_handle("Pod", "v1", strict_error(['unknown field "a"', 'unknown field "b"']))
    assert error.code == 400
    assert error.message == (
        'Pod in version "v1" cannot be handled as a Pod: '
        'strict decoding error: unknown field "a", unknown field "b"'
    )


def test_a_kind_that_is_no_text():
    with pytest.raises(ApiError) as caught:
        decode_object(b'{"kind": 1}', "Pod")
    assert "cannot unmarshal number into Go struct field .kind of type string" in str(caught.value)
