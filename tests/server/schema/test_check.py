"""Validation of custom resources: the messages that kubectl users know."""

import pytest

from volcano.api import schemas
from volcano.server.schema import Compiler, Schema

COMPILER = Compiler(schemas.definitions())


def messages(schema, value):
    root = {"type": "object", "properties": {"spec": schema}}
    found = Schema(root, COMPILER, custom=True).validate({"spec": value})
    return [f"{cause.field}: {cause.message}" for cause in found]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        pytest.param(
            {"type": "integer"},
            "x",
            'spec: Invalid value: "string": spec in body must be of type integer: "string"',
            id="type",
        ),
        pytest.param(
            {"type": "object", "required": ["a"]}, {}, "spec.a: Required value", id="required"
        ),
        pytest.param(
            {"type": "string", "enum": ["a", "b"]},
            "c",
            'spec: Unsupported value: "c": supported values: "a", "b"',
            id="enum",
        ),
        pytest.param(
            {"type": "integer", "minimum": 1},
            0,
            "spec: Invalid value: 0: spec in body should be greater than or equal to 1",
            id="minimum",
        ),
        pytest.param(
            {"type": "integer", "maximum": 5, "exclusiveMaximum": True},
            5,
            "spec: Invalid value: 5: spec in body should be less than 5",
            id="exclusive-maximum",
        ),
        pytest.param(
            {"type": "string", "pattern": "^a+$"},
            "b",
            "spec: Invalid value: \"b\": spec in body should match '^a+$'",
            id="pattern",
        ),
        pytest.param(
            {"type": "string", "maxLength": 2},
            "abc",
            "spec: Too long: may not be more than 2 bytes",
            id="max-length",
        ),
        pytest.param(
            {"type": "string", "minLength": 2},
            "a",
            'spec: Invalid value: "a": spec in body should be at least 2 chars long',
            id="min-length",
        ),
        pytest.param(
            {"type": "array", "items": {"type": "integer"}, "maxItems": 1},
            [1, 2],
            "spec: Too many: 2: must have at most 1 item",
            id="max-items",
        ),
        pytest.param(
            {"type": "array", "items": {"type": "integer"}},
            [1, "b"],
            'spec[1]: Invalid value: "string": spec[1] in body must be of type integer: "string"',
            id="item-type",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"k": 1},
            'spec.k: Invalid value: "integer": spec.k in body must be of type string: "integer"',
            id="map-value",
        ),
        pytest.param(
            {"type": "string", "format": "date-time"},
            "now",
            'spec: Invalid value: "now": spec in body must be of type date-time: "now"',
            id="format",
        ),
        pytest.param(
            {"x-kubernetes-int-or-string": True},
            True,
            'spec: Invalid value: "boolean": '
            'spec in body must be of type integer,string: "boolean"',
            id="int-or-string",
        ),
        pytest.param(
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": {"type": "string"}}},
            },
            [{"name": "a"}, {"name": "a"}],
            'spec[1]: Duplicate value: {"name":"a"}',
            id="keyed-duplicate",
        ),
        pytest.param(
            {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            ["a", "b", "a"],
            'spec[2]: Duplicate value: "a"',
            id="set-duplicate",
        ),
        pytest.param(
            {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {},
            '<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)',
            id="any-of",
        ),
        pytest.param(
            {"type": "integer", "format": "int32"},
            2**40,
            '<nil>: Invalid value: "": '
            "Checked value must be of type integer with format int32 in spec",
            id="int32",
        ),
    ],
)
def test_message(schema, value, message):
    assert messages(schema, value)[:1] == [message]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        pytest.param({"type": "number"}, 1, id="int-is-a-number"),
        pytest.param({"type": "integer"}, 1.0, id="whole-float-is-an-int"),
        pytest.param({"type": "string", "nullable": True}, None, id="nullable"),
        pytest.param({"x-kubernetes-int-or-string": True}, "80%", id="int-or-string"),
        pytest.param({"type": "object", "additionalProperties": True}, {"a": [1]}, id="any-map"),
    ],
)
def test_accepts(schema, value):
    assert messages(schema, value) == []
