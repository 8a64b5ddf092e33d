"""Protobuf bodies: the same JSON as kubectl would have sent, and no way to break the reader."""

import json
import struct
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server import registry_of_all
from tests.server.kubectl_front import Front, kubectl
from volcano.base.errors import ApiError
from volcano.base.http import Request
from volcano.server.protobuf import CONTENT_TYPE, ProtobufError, decode, with_json_body
from volcano.server.protobuf.decode import MAGIC
from volcano.server.protobuf.wire import double, fields, signed

TYPE = {"content-type": CONTENT_TYPE}


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value & (1 << 64) - 1)


def text(field: int, value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def varint(value: int) -> bytes:
    found = b""
    while value > 0x7F:
        found += bytes([value & 0x7F | 0x80])
        value >>= 7
    return found + bytes([value])


def envelope(api_version: str, kind: str, message: bytes) -> bytes:
    return MAGIC + text(1, text(1, api_version) + text(2, kind)) + text(2, message)


def check(api_version: str, kind: str, message: bytes, expected) -> None:
    assert decode(envelope(api_version, kind, message)) == {
        "apiVersion": api_version,
        "kind": kind,
        **expected,
    }


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(text(1, text(1, "a")), {"metadata": {"name": "a"}}, id="name"),
        pytest.param(
            text(1, text(1, "a") + text(2, "") + text(8, b"") + number(7, 0)),
            {"metadata": {"name": "a"}},
            id="zero_values_are_left_out",
        ),
        pytest.param(
            text(1, text(8, number(1, 1_767_225_600) + number(2, 0))),
            {"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}},
            id="time",
        ),
        pytest.param(
            text(2, text(1, "k") + text(2, "v")) + text(2, text(1, "l")),
            {"data": {"k": "v", "l": ""}},
            id="map",
        ),
        pytest.param(
            text(3, text(1, "k") + text(2, b"\x00\xff")), {"binaryData": {"k": "AP8="}}, id="bytes"
        ),
        pytest.param(number(4, 0), {"immutable": False}, id="zero_behind_a_pointer_is_kept"),
        pytest.param(text(99, "new"), {}, id="unknown_field"),
    ],
)
def test_config_map(message: bytes, expected) -> None:
    check("v1", "ConfigMap", message, expected)


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        (number(1, 0) + number(2, 8080), 8080),
        (number(1, 1) + number(2, 0) + text(3, "http"), "http"),
        (number(2, -1), -1),
    ],
)
def test_number_or_text(port: bytes, expected) -> None:
    listed = text(1, text(4, port) + number(3, 80))
    spec = {"ports": [{"targetPort": expected, "port": 80}]}
    check("v1", "Service", text(2, listed), {"spec": spec})


def test_inlined_messages_are_spread() -> None:
    empty_dir = text(1, "scratch") + text(2, text(2, b""))
    check(
        "v1",
        "Pod",
        text(2, text(1, empty_dir)),
        {"spec": {"volumes": [{"name": "scratch", "emptyDir": {}}]}},
    )


def test_options_are_known_under_every_group() -> None:
    check("apps/v1", "DeleteOptions", number(1, 0), {"gracePeriodSeconds": 0})


def test_schemas_of_crds() -> None:
    schema = text(5, "object") + text(30, number(1, 1)) + text(8, text(1, b'{"a":1}'))
    version = text(1, "v1") + text(4, text(1, schema))
    check(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        text(2, text(7, version)),
        {
            "spec": {
                "versions": [
                    {
                        "name": "v1",
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "additionalProperties": True,
                                "default": {"a": 1},
                            }
                        },
                    }
                ]
            }
        },
    )


@pytest.mark.parametrize(
    ("body", "match"),
    [
        pytest.param(b"{}", "envelope", id="json"),
        pytest.param(envelope("v9", "Pod", b""), "not known", id="unknown_kind"),
        pytest.param(envelope("v1", "Pod", b"\x0a\x7f"), "ends after", id="cut_off"),
        pytest.param(envelope("v1", "Pod", b"\xff" * 12), "too long", id="endless_number"),
        pytest.param(envelope("v1", "Pod", b"\x0b"), "wire type 3", id="group"),
        pytest.param(envelope("v1", "Pod", number(1, 1)), "a number stands", id="other_type"),
        pytest.param(envelope("v1", "Pod", text(1, text(1, b"\xff"))), "not UTF-8", id="not_utf8"),
        pytest.param(
            envelope("v1", "Pod", text(1, text(8, number(1, 1 << 60)))), "calendar", id="far_time"
        ),
        pytest.param(MAGIC + text(3, "gzip"), "encoded once more", id="encoded"),
    ],
)
def test_refused(body: bytes, match: str) -> None:
    with pytest.raises(ProtobufError, match=match):
        decode(body)
    with pytest.raises(ApiError, match="protobuf body") as caught:
        with_json_body(Request("POST", "/", headers=TYPE, body=body))
    assert caught.value.code == 400


def test_deep_nesting_is_refused() -> None:
    schema = b""
    for _ in range(200):
        schema = text(28, schema)  # `not`
    body = text(2, text(7, text(4, text(1, schema))))
    with pytest.raises(ProtobufError, match="nested deeper"):
        decode(envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", body))


@given(st.binary(max_size=200), st.sampled_from(["Pod", "Service", "Event", "DeleteOptions"]))
def test_no_bytes_break_the_reader(data: bytes, kind: str) -> None:
    for body in (data, MAGIC + data, envelope("v1", kind, data)):
        try:
            msgspec.json.encode(decode(body))
        except ProtobufError:
            continue


def test_wire_values() -> None:
    assert list(fields(b"\x09" + struct.pack("<d", 1.5))) == [(1, struct.pack("<d", 1.5))]
    assert double(struct.pack("<d", 1.5)) == 1.5
    assert [signed(value, 32) for value in (0, 2**31, 2**64 - 1)] == [0, -(2**31), -1]


def test_other_bodies_stay_as_they_are() -> None:
    request = Request("POST", "/", headers={"content-type": "application/json"}, body=b"{}")
    assert with_json_body(request) is request


def test_an_empty_body_stays_empty() -> None:
    assert with_json_body(Request("DELETE", "/", headers=TYPE)).body == b""


COMMANDS = {
    "deployment": "create deployment d --image=i --replicas=0 --port=80 -- sleep 5",
    "config_map": "create configmap c --from-literal=a=b",
    "secret": "create secret generic s --from-literal=a=b",
    "namespace": "create namespace team",
    "role": "create role r --verb=get,list --resource=pods --resource-name=x",
    "cluster_role": "create clusterrole r --verb=get --non-resource-url=/metrics",
    "role_binding": "create rolebinding rb --role=r --user=bob --serviceaccount=n:s",
    "quota": "create quota q --hard=pods=3,cpu=500m",
    "budget": "create pdb p --selector=a=b --min-available=50%",
    "job": "create job j --image=i -- true",
    "cron_job": "create cronjob cj --image=i --schedule=*/1 -- true",
    "priority_class": "create priorityclass pc --value=-5 --preemption-policy=Never",
    "service": "create service nodeport sv --tcp=80:http --node-port=30080",
    "account": "create serviceaccount sa",
}


@pytest.mark.process
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_what_kubectl_creates(tmp_path: Path, command: str) -> None:
    front = Front(registry_of_all.everything(), {})
    arguments = command.split()
    position = arguments.index("--") if "--" in arguments else len(arguments)
    dry = [*arguments[:position], "--dry-run=client", "-o", "json", *arguments[position:]]
    expected = json.loads(kubectl(front, tmp_path, *dry))
    kubectl(front, tmp_path, *arguments)
    (sent,) = front.written
    assert sent.headers["content-type"] == CONTENT_TYPE
    found = json.loads(with_json_body(sent).body)
    assert without_scope(found) == without_scope(expected)


def without_scope(obj):
    """Without what the client fills in only when it prints (namespace, empty lists as null)."""
    obj["metadata"].pop("namespace", None)
    return obj
