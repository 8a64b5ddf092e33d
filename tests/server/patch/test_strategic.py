"""Strategic merge patch on core kinds: keys, directives, order."""

import pytest

from volcano.api import kinds, schemas
from volcano.base.errors import ApiError
from volcano.server.patch import strategic_merge
from volcano.server.schema import Compiler, Schema

COMPILER = Compiler(schemas.definitions())
DEPLOYMENT = Schema(schemas.core_schema(kinds.DEPLOYMENT), COMPILER, custom=False)
POD = Schema(schemas.core_schema(kinds.POD), COMPILER, custom=False)
NODE = Schema(schemas.core_schema(kinds.NODE), COMPILER, custom=False)


def containers(*items):
    return {"spec": {"containers": list(items)}}


def names(pod):
    return [item["name"] for item in pod["spec"]["containers"]]


A, B, C = ({"name": name, "image": name} for name in "abc")


def test_items_merge_by_key_and_keep_their_place():
    new = strategic_merge(containers(A, B), containers({"name": "b", "image": "x"}, C), POD)
    assert new == containers(A, {"name": "b", "image": "x"}, C)


def test_delete_an_item():
    patch = containers({"name": "a", "$patch": "delete"})
    assert strategic_merge(containers(A, B), patch, POD) == containers(B)


def test_replace_a_list():
    patch = containers(C, {"$patch": "replace"})
    assert strategic_merge(containers(A, B), patch, POD) == containers(C)


def test_replace_and_delete_a_map():
    doc = {"metadata": {"labels": {"a": "1", "b": "2"}}}
    replaced = strategic_merge(doc, {"metadata": {"labels": {"$patch": "replace", "c": "3"}}}, POD)
    assert replaced == {"metadata": {"labels": {"c": "3"}}}
    deleted = strategic_merge(doc, {"metadata": {"labels": {"$patch": "delete"}}}, POD)
    assert deleted == {"metadata": {"labels": {}}}


def test_null_removes():
    doc = {"metadata": {"labels": {"a": "1", "b": "2"}}}
    patch = {"metadata": {"labels": {"a": None, "x": None}}}
    assert strategic_merge(doc, patch, POD) == {"metadata": {"labels": {"b": "2"}}}


def test_set_element_order_as_kubectl_apply_sends_it():
    patch = {
        "spec": {
            "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
            "containers": [C, {"name": "b", "$patch": "delete"}],
        }
    }
    assert names(strategic_merge(containers(A, B), patch, POD)) == ["c", "a"]


def test_server_only_items_keep_their_place_in_an_ordered_list():
    patch = {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "c"}],
                      "containers": [C]}}  # fmt: skip
    assert names(strategic_merge(containers(A, B), patch, POD)) == ["a", "b", "c"]


def test_primitive_lists_merge_and_shrink():
    doc = {"metadata": {"finalizers": ["a", "b"]}}
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}}
    assert strategic_merge(doc, patch, POD)["metadata"]["finalizers"] == ["c", "b"]


def test_retain_keys():
    doc = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert strategic_merge(doc, patch, DEPLOYMENT) == {"spec": {"strategy": {"type": "Recreate"}}}


def test_atomic_lists_are_replaced_and_conditions_merged_by_type():
    doc = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "x"}]}}
    patch = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
    assert strategic_merge(doc, patch, NODE)["status"]["conditions"] == [
        {"type": "Ready", "status": "False", "reason": "x"}
    ]
    doc, patch = (
        {"spec": {"tolerations": [{"key": "a"}]}},
        {"spec": {"tolerations": [{"key": "b"}]}},
    )
    assert strategic_merge(doc, patch, POD) == patch


def test_directives_never_reach_the_object():
    patch = {"spec": {"affinity": {"$patch": "replace", "nodeAffinity": {"$retainKeys": []}}}}
    assert strategic_merge({}, patch, POD) == {"spec": {"affinity": {"nodeAffinity": {}}}}


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        pytest.param(
            containers({"image": "x"}),
            "map: map[image:x] does not contain declared merge key: name",
            id="no-key",
        ),
        pytest.param(
            containers({"name": "a", "$patch": "merge"}),
            "merging lists cannot yet be specified in the patch",
            id="merge-list",
        ),
        pytest.param(
            {"spec": {"$patch": "oops"}}, "unknown patch type: oops in map: {}", id="unknown"
        ),
        pytest.param(
            {"spec": {"$setElementOrder/containers": "a"}},
            "invalid patch format of setElementOrder list",
            id="order",
        ),
        pytest.param(
            {"spec": {"$retainKeys": "a"}}, "invalid patch format of retainKeys", id="retain"
        ),
    ],
)
def test_malformed(patch, message):
    with pytest.raises(ApiError) as caught:
        strategic_merge(containers(A), patch, POD)
    assert (caught.value.code, caught.value.message) == (400, message)
