"""Label and field selectors."""

import pytest

from volcano.api import kinds
from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError
from volcano.server.selectors import match_label_selector, selection


def labelled(**labels: str) -> JsonObject:
    return {"metadata": {"name": "a", "namespace": "n", "labels": labels}}


@pytest.mark.parametrize(
    ("selector", "labels", "want"),
    [
        ("a=b", {"a": "b"}, True),
        ("a==b", {"a": "c"}, False),
        ("a=", {"a": ""}, True),
        ("a!=b", {}, True),
        ("a!=b", {"a": "b"}, False),
        ("a", {"a": ""}, True),
        ("!a", {"a": ""}, False),
        ("! a", {}, True),
        ("a in (b, c)", {"a": "c"}, True),
        ("a in (b,c)", {}, False),
        ("a notin (b,c)", {}, True),
        ("a notin (b,c)", {"a": "b"}, False),
        ("a in ()", {"a": ""}, True),
        ("a>4", {"a": "5"}, True),
        ("a<4", {"a": "5"}, False),
        ("a>4", {"a": "x"}, False),
        ("x.y/a=b,c in (d),!e", {"x.y/a": "b", "c": "d"}, True),
        ("x.y/a=b,c in (d),!e", {"x.y/a": "b", "c": "d", "e": ""}, False),
    ],
)
def test_labels(selector: str, labels: dict[str, str], want: bool) -> None:
    assert selection({"labelSelector": selector}, kinds.POD).matches(labelled(**labels)) is want


@pytest.mark.parametrize("selector", ["a in", "a in (b", "=b", "a b", "a>x", "a=b=c", "a=$"])
def test_labels_that_do_not_parse(selector: str) -> None:
    with pytest.raises(ApiError, match="unable to parse requirement") as caught:
        selection({"labelSelector": selector}, kinds.POD)
    assert caught.value.code == 400


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        ("spec.nodeName=n1", True),
        ("spec.nodeName!=n1", False),
        ("metadata.name=a,status.phase==Running", True),
        ("metadata.namespace=n", True),
        ("status.podIP=", True),
        ("spec.hostNetwork=false", True),
        ("", True),
    ],
)
def test_fields(selector: str, want: bool) -> None:
    pod = {**labelled(), "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}
    assert selection({"fieldSelector": selector}, kinds.POD).matches(pod) is want


def test_a_field_that_is_not_selectable_is_named() -> None:
    with pytest.raises(ApiError, match=r"field label not supported: spec\.containers"):
        selection({"fieldSelector": "spec.containers=a"}, kinds.POD)
    with pytest.raises(ApiError, match=r"field label not supported: metadata\.namespace"):
        selection({"fieldSelector": "metadata.namespace=a"}, kinds.NODE)
    assert selection({"fieldSelector": "spec.x=1"}, kinds.NODE, ("spec.x",)).fields


def test_a_label_selector_object() -> None:
    selector = {
        "matchLabels": {"a": "b"},
        "matchExpressions": [{"key": "c", "operator": "In", "values": ["d"]}],
    }
    assert match_label_selector(selector, {"a": "b", "c": "d"})
    assert not match_label_selector(selector, {"a": "b"})
    assert match_label_selector({}, {})
    assert not match_label_selector(None, {})
