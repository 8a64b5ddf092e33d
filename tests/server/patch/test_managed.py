"""Managed fields of ordinary writes, and server-side apply."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from volcano.api import kinds, schemas
from volcano.base.errors import ApiError
from volcano.server.patch import apply, manager_name, reset_fields, track_update
from volcano.server.patch.fieldset import difference, intersection, paths, union, without_below
from volcano.server.schema import Compiler, Schema

COMPILER = Compiler(schemas.definitions())


def core(kind):
    return Schema(schemas.core_schema(kind), COMPILER, custom=False)


POD, DEPLOYMENT, CONFIG = core(kinds.POD), core(kinds.DEPLOYMENT), core(kinds.CONFIG_MAP)
CUSTOM = Schema(
    {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": {"n": {"type": "integer"}}},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    },
    COMPILER,
    custom=True,
)
NOW = 1_700_000_000.0


def config_map(data=None, **meta):
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", **meta}}
    if data is not None:
        obj["data"] = data
    return obj


def owned(obj):
    return {
        (entry["manager"], entry["operation"], entry.get("subresource", "")): sorted(
            paths(entry["fieldsV1"])
        )
        for entry in obj["metadata"].get("managedFields", ())
    }


def deployment(**spec):
    labels = {"app": "a"}
    container = {"name": "c", "image": "i", "ports": [{"containerPort": 80}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "default", "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            **spec,
        },
    }


def test_create_as_kube_apiserver_records_it():
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default", "labels": {"run": "p"}},
        "spec": {
            "containers": [{"name": "p", "image": "i", "resources": {}}],
            "volumes": [{"name": "v", "emptyDir": {}}],
            "nodeSelector": {"a": "b"},
        },
        "status": {"phase": "Pending"},
    }
    track_update(None, pod, "kubectl-run", schema=POD, now=NOW, reset=reset_fields(kinds.POD))
    assert pod["metadata"]["managedFields"] == [
        {
            "manager": "kubectl-run",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2023-11-14T22:13:20Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:run": {}}},
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"p"}': {
                            ".": {},
                            "f:name": {},
                            "f:image": {},
                            "f:resources": {},
                        }
                    },
                    "f:volumes": {
                        ".": {},
                        'k:{"name":"v"}': {".": {}, "f:name": {}, "f:emptyDir": {}},
                    },
                    "f:nodeSelector": {},
                },
            },
        }
    ]


def test_custom_resources_own_their_spec_as_a_whole_too():
    obj = {"apiVersion": "x/v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"n": 1}}
    track_update(None, obj, "m", schema=CUSTOM, now=NOW)
    assert owned(obj) == {("m", "Update", ""): [".spec", ".spec.n"]}


def test_an_update_takes_what_it_changed_and_frees_what_it_removed():
    old = config_map({"a": "1", "b": "2", "c": "3"})
    track_update(None, old, "one", schema=CONFIG, now=NOW)
    new = copy.deepcopy(old)
    new["data"].update(a="9", d="4")
    del new["data"]["c"]
    track_update(old, new, "two", schema=CONFIG, now=NOW + 60)
    assert owned(new) == {
        ("one", "Update", ""): [".data", ".data.b"],
        ("two", "Update", ""): [".data.a", ".data.d"],
    }
    assert [entry["time"] for entry in new["metadata"]["managedFields"]] == [
        "2023-11-14T22:13:20Z",
        "2023-11-14T22:14:20Z",
    ]


def test_an_update_that_changes_nothing_changes_no_entry():
    old = config_map({"a": "1"})
    track_update(None, old, "one", schema=CONFIG, now=NOW)
    new = copy.deepcopy(old)
    track_update(old, new, "two", schema=CONFIG, now=NOW + 60)
    assert new == old


def test_status_writes_have_an_entry_of_their_own():
    old = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}, "status": {}}
    track_update(None, old, "one", schema=POD, now=NOW, reset=reset_fields(kinds.POD))
    old["metadata"]["managedFields"] = [
        {
            "manager": "one",
            "operation": "Update",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:x": {}}},
        }
    ]
    new = copy.deepcopy(old)
    new["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    reset = reset_fields(kinds.POD, "status")
    track_update(old, new, "kubelet", schema=POD, now=NOW, subresource="status", reset=reset)
    assert owned(new)["kubelet", "Update", "status"] == [
        ".status.conditions",
        '.status.conditions[type="Ready"]',
        '.status.conditions[type="Ready"].status',
        '.status.conditions[type="Ready"].type',
        ".status.phase",
    ]


def test_objects_without_managed_fields_stay_without():
    old, new = config_map({"a": "1"}), config_map({"a": "2"})
    track_update(old, new, "m", schema=CONFIG, now=NOW)
    assert "managedFields" not in new["metadata"]


def test_an_empty_list_drops_managed_fields():
    old = config_map({"a": "1"})
    track_update(None, old, "one", schema=CONFIG, now=NOW)
    new = config_map({"a": "2"}, managedFields=[{}])
    track_update(old, new, "two", schema=CONFIG, now=NOW)
    assert "managedFields" not in new["metadata"]


def test_the_oldest_updaters_merge_beyond_ten():
    obj = config_map({})
    track_update(None, obj, "m0", schema=CONFIG, now=NOW)
    for turn in range(1, 14):
        new = copy.deepcopy(obj)
        new["data"][f"k{turn:02}"] = "x"
        track_update(obj, new, f"m{turn}", schema=CONFIG, now=NOW + turn)
        obj = new
    entries = owned(obj)
    assert len(entries) == 10
    assert {".data.k01", ".data.k04"} <= set(entries["ancient-changes", "Update", ""])
    assert entries["m13", "Update", ""] == [".data.k13"]


def test_apply_creates_and_again_changes_nothing():
    first = apply(None, deployment(), "kubectl", schema=DEPLOYMENT, now=NOW)
    assert apply(first, deployment(), "kubectl", schema=DEPLOYMENT, now=NOW + 60) == first
    assert first["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"] == {
        "f:replicas": {},
        "f:selector": {},
        "f:template": {
            "f:metadata": {"f:labels": {"f:app": {}}},
            "f:spec": {
                "f:containers": {
                    'k:{"name":"c"}': {
                        ".": {},
                        "f:name": {},
                        "f:image": {},
                        "f:ports": {
                            'k:{"containerPort":80,"protocol":"TCP"}': {
                                ".": {},
                                "f:containerPort": {},
                            }
                        },
                    }
                }
            },
        },
    }


def test_conflicts_are_named_and_force_takes_the_fields():
    live = apply(None, deployment(), "kubectl", schema=DEPLOYMENT, now=NOW)
    wanted = deployment(replicas=3)
    with pytest.raises(ApiError) as caught:
        apply(live, wanted, "other", schema=DEPLOYMENT, now=NOW)
    status = caught.value.to_status()
    assert status["code"] == 409
    assert status["message"] == (
        'Apply failed with 1 conflict: conflict with "kubectl": .spec.replicas'
    )
    assert status["details"]["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "kubectl"',
            "field": ".spec.replicas",
        }
    ]
    forced = apply(live, wanted, "other", schema=DEPLOYMENT, now=NOW, force=True)
    assert forced["spec"]["replicas"] == 3
    assert ".spec.replicas" not in owned(forced)["kubectl", "Apply", ""]


def test_conflicts_with_several_managers():
    live = apply(None, deployment(), "b", schema=DEPLOYMENT, now=NOW)
    new = copy.deepcopy(live)
    new["spec"]["template"]["spec"]["containers"][0]["image"] = "j"
    track_update(live, new, "a", schema=DEPLOYMENT, now=NOW)
    with pytest.raises(ApiError) as caught:
        apply(new, deployment(replicas=3), "c", schema=DEPLOYMENT, now=NOW)
    assert caught.value.message == (
        'Apply failed with 2 conflicts: conflicts with "a" using apps/v1:\n'
        '- .spec.template.spec.containers[name="c"].image\n'
        'conflicts with "b":\n'
        "- .spec.replicas"
    )


def test_what_is_no_longer_applied_goes_unless_owned_by_another():
    live = apply(None, config_map({"a": "1", "b": "2"}), "one", schema=CONFIG, now=NOW)
    live = apply(live, config_map({"b": "2", "c": "3"}), "two", schema=CONFIG, now=NOW)
    live = apply(live, config_map({"z": "0"}), "one", schema=CONFIG, now=NOW)
    assert live["data"] == {"b": "2", "c": "3", "z": "0"}
    assert owned(live) == {
        ("one", "Apply", ""): [".data.z"],
        ("two", "Apply", ""): [".data.b", ".data.c"],
    }


def test_items_no_longer_applied_go_and_defaulted_fields_stay():
    live = apply(None, deployment(), "kubectl", schema=DEPLOYMENT, now=NOW)
    live["spec"]["revisionHistoryLimit"] = 10
    live["spec"]["template"]["spec"]["containers"].append({"name": "side", "image": "s"})
    wanted = deployment()
    wanted["spec"]["template"]["spec"]["containers"] = [{"name": "new", "image": "n"}]
    result = apply(live, wanted, "kubectl", schema=DEPLOYMENT, now=NOW)
    names = [item["name"] for item in result["spec"]["template"]["spec"]["containers"]]
    assert sorted(names) == ["new", "side"]
    assert result["spec"]["revisionHistoryLimit"] == 10


def test_applying_over_an_object_without_managers_takes_note_of_what_was_there():
    live = config_map({"a": "1", "b": "2"})
    result = apply(live, config_map({"a": "1"}), "m", schema=CONFIG, now=NOW)
    assert owned(result) == {
        ("m", "Apply", ""): [".data.a"],
        ("before-first-apply", "Update", ""): [".data", ".data.a", ".data.b"],
    }
    with pytest.raises(ApiError, match=r'conflict with "before-first-apply" using v1: \.data\.a'):
        apply(live, config_map({"a": "9"}), "m", schema=CONFIG, now=NOW)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            {"spec": {"foo": 1}},
            "failed to create typed patch object (default/d; apps/v1, Kind=Deployment): "
            ".spec.foo: field not declared in schema",
            id="unknown-field",
        ),
        pytest.param(
            {"spec": {"replicas": "x"}},
            "failed to create typed patch object (default/d; apps/v1, Kind=Deployment): "
            ".spec.replicas: expected numeric (int or float), got string",
            id="type",
        ),
        pytest.param(
            {"metadata": {"name": "d", "managedFields": []}},
            "metadata.managedFields must be nil",
            id="managed-fields",
        ),
    ],
)
def test_configurations_that_do_not_fit(change, message):
    config = {**deployment(), **change}
    config["metadata"] = {"namespace": "default", **config["metadata"]}
    with pytest.raises(ApiError) as caught:
        apply(None, config, "m", schema=DEPLOYMENT, now=NOW)
    assert (caught.value.code, caught.value.message) == (400, message)


def test_an_apply_needs_a_manager():
    with pytest.raises(ApiError) as caught:
        apply(None, config_map(), "", schema=CONFIG, now=NOW)
    assert caught.value.code == 422
    assert caught.value.message == (
        'PatchOptions.meta.k8s.io "" is invalid: '
        "fieldManager: Required value: is required for apply patch"
    )


def test_manager_names():
    assert manager_name("x", "kubectl/v1.37") == "x"
    assert manager_name("", "kubectl/v1.37 (linux/amd64)") == "kubectl"


DATA = st.dictionaries(st.sampled_from("abcd"), st.sampled_from("12"), min_size=1)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(["one", "two"]), DATA, st.booleans()), max_size=6))
def test_ownership_invariants(steps):
    """Values that appliers own are the ones they applied last; nothing owned is missing."""
    live, applied = None, {}
    for manager, data, force in steps:
        try:
            live = apply(live, config_map(data), manager, schema=CONFIG, now=NOW, force=force)
        except ApiError:
            if force:
                raise
            continue
        applied[manager] = data
        again = apply(live, config_map(data), manager, schema=CONFIG, now=NOW + 9, force=force)
        assert again == live
        present = live.get("data", {})
        claimed = set()
        for (owner, _, _), fields in owned(live).items():
            for path in fields:
                key = path.removeprefix(".data.")
                assert present[key] == applied[owner][key]
                claimed.add(key)
        assert claimed == set(present)


NODES = st.recursive(
    st.just({}), lambda i: st.dictionaries(st.sampled_from([".", "f:a", "f:b"]), i, max_size=3),
    max_leaves=8,
)  # fmt: skip


def _clean(node):
    below = {key: _clean(item) for key, item in node.items() if key != "."}
    return {".": {}, **below} if "." in node and below else below


SETS = st.dictionaries(st.sampled_from(["f:a", "f:b"]), NODES.map(_clean))


@given(SETS, SETS)
def test_set_algebra(left, right):
    a, b = set(paths(left)), set(paths(right))
    assert set(paths(union(left, right))) == a | b
    assert set(paths(difference(left, right))) == a - b
    assert set(paths(intersection(left, right))) == a & b
    assert set(paths(without_below(left, right))) == {
        path for path in a if not any(path == root or path.startswith(f"{root}.") for root in b)
    }
