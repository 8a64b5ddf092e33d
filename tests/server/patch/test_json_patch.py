"""JSON patch and merge patch."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano.base.errors import ApiError
from volcano.server.patch import json_patch, merge_diff, merge_patch, same_json

DOC = {"metadata": {"labels": {"a/b": "1"}}, "spec": {"list": [1, 2, 3], "n": None}}


@pytest.mark.parametrize(
    ("operation", "path", "want"),
    [
        pytest.param(
            {"op": "add", "path": "/spec/list/1", "value": 9}, "list", [1, 9, 2, 3], id="insert"
        ),
        pytest.param(
            {"op": "add", "path": "/spec/list/-", "value": 9}, "list", [1, 2, 3, 9], id="append"
        ),
        pytest.param({"op": "remove", "path": "/spec/list/0"}, "list", [2, 3], id="remove"),
        pytest.param({"op": "remove", "path": "/spec/list/-1"}, "list", [1, 2], id="from-the-end"),
        pytest.param(
            {"op": "replace", "path": "/spec/list/2", "value": {}}, "list", [1, 2, {}], id="replace"
        ),
        pytest.param({"op": "copy", "from": "/spec/list/0", "path": "/spec/x"}, "x", 1, id="copy"),
        pytest.param(
            {"op": "replace", "path": "/spec/new", "value": 1}, "new", 1, id="replace-adds"
        ),
        pytest.param({"op": "move", "from": "/spec/n", "path": "/spec/m"}, "m", None, id="move"),
    ],
)
def test_operation(operation, path, want):
    before = copy.deepcopy(DOC)
    assert json_patch(DOC, [operation])["spec"][path] == want
    assert before == DOC


def test_escaped_keys_and_test():
    patch = [
        {"op": "test", "path": "/metadata/labels/a~1b", "value": "1"},
        {"op": "replace", "path": "/metadata/labels/a~1b", "value": "2"},
    ]
    assert json_patch(DOC, patch)["metadata"] == {"labels": {"a/b": "2"}}


@pytest.mark.parametrize(
    ("operation", "problem"),
    [
        pytest.param(
            {"op": "test", "path": "/spec/list/0", "value": True},
            "testing value /spec/list/0 failed: test failed",
            id="test-true-is-not-1",
        ),
        pytest.param(
            {"op": "replace", "path": "/spec/list/7", "value": 1},
            "replace operation does not apply: doc is missing key: /spec/list/7: missing value",
            id="replace-missing",
        ),
        pytest.param(
            {"op": "test", "path": "/spec/list/x", "value": 1},
            "error in test for path: '/spec/list/x': strconv.Atoi: parsing \"x\": invalid syntax",
            id="no-index",
        ),
        pytest.param(
            {"op": "remove", "path": "/spec/oops"},
            "error in remove for path: '/spec/oops': "
            "Unable to remove nonexistent key: oops: missing value",
            id="remove-missing",
        ),
        pytest.param(
            {"op": "add", "path": "/a/b", "value": 1},
            'add operation does not apply: doc is missing path: "/a/b": missing value',
            id="no-parent",
        ),
        pytest.param(
            {"op": "add", "path": "/spec/list/9", "value": 1},
            "error in add for path: '/spec/list/9': "
            "Unable to access invalid index: 9: invalid index referenced",
            id="index",
        ),
        pytest.param({"op": "wish", "path": "/a"}, "Unexpected kind: wish", id="kind"),
    ],
)
def test_what_does_not_apply_is_422_with_the_reason_in_a_cause(operation, problem):
    with pytest.raises(ApiError) as caught:
        json_patch(DOC, [operation])
    status = caught.value.to_status()
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["message"] == "the server rejected our request due to an error in our request"
    assert status["details"]["causes"][0]["message"] == problem


def test_malformed_patches_are_400():
    for call in (lambda: json_patch(DOC, {}), lambda: merge_patch(DOC, [])):
        with pytest.raises(ApiError) as caught:
            call()
        assert caught.value.code == 400


def test_too_many_operations():
    with pytest.raises(ApiError) as caught:
        json_patch(DOC, [{"op": "test", "path": ""}] * 10_001)
    assert caught.value.code == 413


def test_merge_patch_removes_by_null_and_replaces_lists():
    assert merge_patch(DOC, {"spec": {"list": [7], "n": None, "new": {"a": None, "b": 1}}}) == {
        "metadata": {"labels": {"a/b": "1"}},
        "spec": {"list": [7], "new": {"b": 1}},
    }


KEYS = st.sampled_from("abc")
VALUES = st.recursive(
    st.booleans() | st.integers(0, 2) | st.text("xy", max_size=1),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
DOCS = st.dictionaries(KEYS, VALUES, max_size=3)


@given(DOCS, DOCS)
def test_patching_by_the_difference_gives_the_other(before, after):
    kept = copy.deepcopy(before)
    assert same_json(merge_patch(before, merge_diff(before, after)), after)
    assert same_json(before, kept)
