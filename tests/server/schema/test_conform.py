"""Unknown fields, nulls and wrong types: what is dropped and what kube-apiserver's words are."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano.api import kinds, schemas
from volcano.server.schema import Compiler, DecodeError, Schema

COMPILER = Compiler(schemas.definitions())


def core(kind):
    return Schema(schemas.core_schema(kind), COMPILER, custom=False)


POD = core(kinds.POD)
CUSTOM = Schema(
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "replicas": {"type": "integer", "default": 1},
                    "port": {"x-kubernetes-int-or-string": True},
                    "note": {"type": "string", "nullable": True},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                    "tasks": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {
                            "type": "object",
                            "required": ["name"],
                            "properties": {
                                "name": {"type": "string"},
                                "policy": {"type": "string", "default": "Never"},
                            },
                        },
                    },
                },
            }
        },
    },
    COMPILER,
    custom=True,
)


@pytest.mark.parametrize(
    ("pod", "unknown", "left"),
    [
        pytest.param({"spec": {"foo": 1}}, ["spec.foo"], {"spec": {}}, id="nested"),
        pytest.param({"foo": 1}, ["foo"], {}, id="top"),
        pytest.param(
            {"spec": {"containers": [{"name": "a", "imagee": "x"}]}},
            ["spec.containers[0].imagee"],
            {"spec": {"containers": [{"name": "a"}]}},
            id="in-a-list",
        ),
        pytest.param(
            {"metadata": {"lables": {}, "creationTimestamp": None}},
            ["metadata.lables"],
            {"metadata": {}},
            id="null-dropped-with-it",
        ),
    ],
)
def test_prune_names_unknown_fields(pod, unknown, left):
    assert POD.prune(pod) == [f'unknown field "{path}"' for path in unknown]
    assert pod == left


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        pytest.param(
            {"spec": {"hostNetwork": "yes"}},
            "json: cannot unmarshal string into Go struct field "
            "PodSpec.spec.hostNetwork of type bool",
            id="text-for-bool",
        ),
        pytest.param(
            {"spec": {"containers": [{"ports": [{"containerPort": "80"}]}]}},
            "json: cannot unmarshal string into Go struct field "
            "ContainerPort.spec.containers.ports.containerPort of type int32",
            id="text-for-port",
        ),
        pytest.param(
            {"spec": {"containers": {"name": "a"}}},
            "json: cannot unmarshal object into Go struct field "
            "PodSpec.spec.containers of type []v1.Container",
            id="object-for-list",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": True}}},
            "json: cannot unmarshal bool into Go struct field "
            "ObjectMeta.metadata.labels of type string",
            id="bool-for-label",
        ),
        pytest.param(
            {"spec": {"containers": [{"env": [{"name": "A", "value": 1}]}]}},
            "json: cannot unmarshal number into Go struct field "
            "EnvVar.spec.containers.env.value of type string",
            id="number-for-env",
        ),
        pytest.param(
            {"spec": {"restartPolicy": 4}},
            "json: cannot unmarshal number into Go struct field "
            "PodSpec.spec.restartPolicy of type v1.RestartPolicy",
            id="named-string-type",
        ),
        pytest.param(
            {"spec": {"activeDeadlineSeconds": 1.5}},
            "json: cannot unmarshal number 1.5 into Go struct field "
            "PodSpec.spec.activeDeadlineSeconds of type int64",
            id="fraction-for-int",
        ),
        pytest.param(
            {"spec": {"containers": [{"resources": {"limits": {"cpu": "1x"}}}]}},
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            id="quantity",
        ),
        pytest.param(
            {"metadata": {"creationTimestamp": "yesterday"}},
            'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": '
            'cannot parse "yesterday" as "2006"',
            id="time",
        ),
    ],
)
def test_wrong_types_of_core_kinds_are_decoding_errors(pod, message):
    with pytest.raises(DecodeError) as caught:
        POD.prune(pod)
    assert str(caught.value) == message


def test_secret_data_must_be_base64():
    with pytest.raises(DecodeError, match="illegal base64 data at input byte 2"):
        core(kinds.SECRET).prune({"data": {"a": "ab!c"}})


def test_recursive_types_compile():
    crd = {"spec": {"versions": [{"schema": {"openAPIV3Schema": {
        "properties": {"a": {"properties": {"b": {"type": "string", "oops": 1}}}}}}}]}}  # fmt: skip
    assert core(kinds.CUSTOM_RESOURCE_DEFINITION).prune(crd) == [
        'unknown field "spec.versions[0].schema.openAPIV3Schema.properties.a.properties.b.oops"'
    ]


def test_custom_resources_keep_wrong_types_for_validation_but_not_in_metadata():
    obj = {"spec": {"replicas": "two"}}
    assert CUSTOM.prune(obj) == []
    assert obj == {"spec": {"replicas": "two"}}
    with pytest.raises(DecodeError, match=r"ObjectMeta\.labels of type string"):
        CUSTOM.prune({"metadata": {"labels": {"a": 1}}})


def test_nulls_and_defaults_of_custom_resources():
    obj = {
        "metadata": {"name": "a", "oops": 1},
        "spec": {"replicas": None, "note": None, "free": {"x": None}, "tasks": [{"name": "t"}]},
    }
    assert CUSTOM.prune(obj) == ['unknown field "metadata.oops"']
    CUSTOM.apply_defaults(obj)
    assert obj == {
        "metadata": {"name": "a"},
        "spec": {
            "replicas": 1,
            "note": None,
            "free": {"x": None},
            "tasks": [{"name": "t", "policy": "Never"}],
        },
    }


def test_defaults_need_their_parent():
    obj = {"metadata": {"name": "a"}}
    CUSTOM.apply_defaults(obj)
    assert obj == {"metadata": {"name": "a"}}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["spec", "tasks", "name", "replicas", "x"]), inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["spec", "status", "x"]), JSON))
def test_prune_is_idempotent(obj):
    CUSTOM.prune(obj)
    once = copy.deepcopy(obj)
    assert CUSTOM.prune(obj) == []
    assert obj == once


@pytest.mark.parametrize(
    ("volume", "where"),
    [
        ({"name": 1}, "Volume.spec.volumes.name of type string"),
        (
            {"name": "v", "emptyDir": 1},
            "Volume.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource",
        ),
        (
            {"name": "v", "configMap": {"name": 1}},
            (
                "ConfigMapVolumeSource.spec.volumes.VolumeSource.configMap."
                "LocalObjectReference.name of type string"
            ),
        ),
    ],
)
def test_embedded_structs_are_named_on_the_way(volume, where):
    with pytest.raises(DecodeError) as caught:
        POD.prune({"spec": {"volumes": [volume]}})
    assert str(caught.value) == f"json: cannot unmarshal number into Go struct field {where}"
