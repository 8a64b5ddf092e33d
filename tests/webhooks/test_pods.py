"""Pods: scenario lists of spec admission 16.5 and 16.6."""

from typing import Any

import pytest

from tests.webhooks.world import Stored, create, operations, verdict
from volcano.api import kinds, wellknown
from volcano.api.objects import JsonObject
from volcano.base.errors import ConfigError
from volcano.webhooks import Options, pods, resource_groups

GROUPS = """
resourceGroups:
- resourceGroup: management
  object:
    key: namespace
    value: [mng-ns-1, mng-ns-2]
  schedulerName: default-scheduler
  tolerations:
  - {key: mng-taint-1, operator: Exists, effect: NoSchedule, tolerationseconds: 30}
  labels: {nodetype: management}
  affinity: '{"nodeAffinity": {"preferred": []}}'
- resourceGroup: cpu
  object:
    key: annotation
    value: ["volcano.sh/resource-group: cpu"]
  schedulerName: volcano
  labels: {nodetype: cpu}
- resourceGroup: gpu
  schedulerName: volcano
  labels: {nodetype: gpu}
"""
TOLERATION = {
    "key": "mng-taint-1",
    "operator": "Exists",
    "effect": "NoSchedule",
    "tolerationSeconds": 30,
}
AFFINITY: JsonObject = {"nodeAffinity": {"preferred": []}}


def pod(namespace: str = "test", annotations: JsonObject | None = None, **spec: Any) -> JsonObject:
    meta: JsonObject = {"name": "a", "namespace": namespace}
    if annotations:
        meta["annotations"] = annotations
    return {"metadata": meta, "spec": {"containers": [{"name": "main"}], **spec}}


def add(path: str, value: Any) -> JsonObject:
    return {"op": "add", "path": f"/spec/{path}", "value": value}


GROUP_CASES = {
    "namespace": (
        pod("mng-ns-1"),
        [
            add("nodeSelector", {"nodetype": "management"}),
            add("affinity", AFFINITY),
            add("tolerations", [TOLERATION]),
            add("schedulerName", "default-scheduler"),
        ],
    ),
    "annotation": (
        pod(annotations={"volcano.sh/resource-group": "cpu"}),
        [add("nodeSelector", {"nodetype": "cpu"}), add("schedulerName", "volcano")],
    ),
    "name of the group": (
        pod(annotations={"volcano.sh/resource-group": "gpu"}),
        [add("nodeSelector", {"nodetype": "gpu"}), add("schedulerName", "volcano")],
    ),
    "no group": (pod(), []),
    "own affinity stays": (
        pod("mng-ns-2", affinity={"podAffinity": {}}),
        [
            add("nodeSelector", {"nodetype": "management"}),
            add("tolerations", [TOLERATION]),
            add("schedulerName", "default-scheduler"),
        ],
    ),
    "own selector and tolerations are extended": (
        pod("mng-ns-2", nodeSelector={"disk": "ssd"}, tolerations=[{"key": "x"}]),
        [
            add("nodeSelector", {"disk": "ssd", "nodetype": "management"}),
            add("affinity", AFFINITY),
            add("tolerations", [{"key": "x"}, TOLERATION]),
            add("schedulerName", "default-scheduler"),
        ],
    ),
}


@pytest.mark.parametrize(("obj", "expected"), GROUP_CASES.values(), ids=GROUP_CASES)
def test_resource_groups(obj: JsonObject, expected: list[JsonObject]) -> None:
    check = pods.mutating(Options(resource_groups=resource_groups.parse(GROUPS)))
    assert operations(check, create(kinds.POD, obj)) == expected


def test_without_groups_nothing_is_changed() -> None:
    obj = pod(annotations={"volcano.sh/resource-group": "cpu"}, schedulerName="default-scheduler")
    assert pods.mutating(Options()).admit(create(kinds.POD, obj), Stored()).patched is None


MATCHES = {
    "first definition of a key wins": (("k: a", "k: b"), {"k": "b"}, False),
    "empty value and no annotation": (("k: ''",), {}, True),
    "an entry that is no map is passed by": (("[", "k: a"), {"k": "a"}, True),
    "any pair is enough": (("k: a", "l: b"), {"l": "b"}, True),
}


@pytest.mark.parametrize(("values", "annotations", "expected"), MATCHES.values(), ids=MATCHES)
def test_matching_by_annotation(
    values: tuple[str, ...], annotations: dict[str, str], expected: bool
) -> None:
    group = resource_groups.ResourceGroup(name="g", key="annotation", values=values)
    assert group.matches("test", annotations) is expected


def test_a_group_with_neither_name_nor_key_takes_pods_without_annotation() -> None:
    group = resource_groups.ResourceGroup()
    assert group.matches("test", {})
    assert not group.matches("test", {"volcano.sh/resource-group": "x"})
    assert not resource_groups.ResourceGroup(key="other").matches("test", {})


@pytest.mark.parametrize("text", ["resourceGroups: 3", "{", "resourceGroups: [{labels: [a]}]"])
def test_a_malformed_file_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="resource-group file"):
        resource_groups.parse(text)


def test_an_empty_file_has_no_groups() -> None:
    assert resource_groups.parse("# only comments\n") == ()


ASKS = {wellknown.QUEUE_ALLOCATION_GATE: "true"}
GATE = {"name": wellknown.QUEUE_ALLOCATION_GATE}
GATE_CASES = {
    "asked for": (pod(annotations=ASKS), [add("schedulingGates", [GATE])]),
    "beside another gate": (
        pod(annotations=ASKS, schedulingGates=[{"name": "x"}]),
        [add("schedulingGates/-", GATE)],
    ),
    "there already": (pod(annotations=ASKS, schedulingGates=[GATE]), []),
    "not asked for": (pod(), []),
}


@pytest.mark.parametrize(("obj", "expected"), GATE_CASES.values(), ids=GATE_CASES)
def test_scheduling_gate(obj: JsonObject, expected: list[JsonObject]) -> None:
    check = pods.mutating(Options(queue_admission_gate=True))
    assert operations(check, create(kinds.POD, obj)) == expected
    assert operations(pods.mutating(Options()), create(kinds.POD, obj)) == []


def test_a_gate_is_appended_to_a_copy() -> None:
    obj = pod(annotations=ASKS, schedulingGates=[{"name": "x"}])
    check = pods.mutating(Options(queue_admission_gate=True))
    patched = check.admit(create(kinds.POD, obj), Stored()).patched
    assert patched is not None
    assert patched["spec"]["schedulingGates"] == [{"name": "x"}, GATE]
    assert obj["spec"]["schedulingGates"] == [{"name": "x"}]


MIN, MAX = wellknown.JDB_MIN_AVAILABLE, wellknown.JDB_MAX_UNAVAILABLE
POSITIVE = "it must be a positive integer"
PERCENT = "it must be a valid percentage which between 1% ~ 99%"
BUDGETS = {
    "none": ({}, ""),
    "count": ({MIN: "2"}, ""),
    "signed count": ({MIN: "+5"}, ""),
    "percent": ({MAX: "50%"}, ""),
    "doubled sign": ({MAX: "5%%"}, ""),
    "sign before": ({MAX: "%5"}, ""),
    "negative": ({MIN: "-1"}, POSITIVE),
    "zero": ({MIN: "0"}, POSITIVE),
    "zero percent": ({MAX: "0%"}, PERCENT),
    "all": ({MAX: "100%"}, PERCENT),
    "beyond 32 bits": ({MIN: "3000000000"}, PERCENT),
    "a word": ({MIN: "invalid"}, f'invalid value "invalid" for {MIN}'),
    "empty": ({MIN: ""}, f'invalid value "" for {MIN}'),
    "fraction": ({MIN: "5.5%"}, f'invalid value "5.5%" for {MIN}'),
    "both": (
        {MIN: "2", MAX: "50%"},
        f"not allow configure multiple annotations <[{MIN} {MAX}]> at same time",
    ),
}


@pytest.mark.parametrize(("annotations", "text"), BUDGETS.values(), ids=BUDGETS)
def test_disruption_budget(annotations: dict[str, str], text: str) -> None:
    obj = pod(annotations=annotations, schedulerName="volcano")
    found = verdict(pods.validating(Options()), create(kinds.POD, obj))
    assert (text in found) if text else found == ""


def test_pods_of_other_schedulers_pass() -> None:
    obj = pod(annotations={MIN: "-1"}, schedulerName="default-scheduler")
    assert verdict(pods.validating(Options()), create(kinds.POD, obj)) == ""


CLOSED = "can only submit Pod to queue with state `Open`, queue `q` status is `Closed`."
IN_Q = {wellknown.QUEUE_NAME: "q"}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}


def owned(obj: JsonObject) -> JsonObject:
    return {**obj, "metadata": {**obj["metadata"], "ownerReferences": [OWNER]}}


@pytest.mark.parametrize(
    ("obj", "namespace", "state", "text"),
    [
        pytest.param(pod(annotations=IN_Q), {}, "Closed", CLOSED, id="bare"),
        pytest.param(pod(), IN_Q, "Closed", CLOSED, id="queue of the namespace"),
        pytest.param(pod(annotations=IN_Q), {}, "Open", "", id="open"),
        pytest.param(pod(annotations=IN_Q), {}, "", "", id="queue not looked at yet"),
        pytest.param(pod(), {}, "Closed", "", id="another queue"),
        pytest.param(owned(pod(annotations=IN_Q)), {}, "Closed", "", id="of a workload"),
        pytest.param(
            pod(annotations={**IN_Q, wellknown.GROUP_NAME: "g"}), {}, "Closed", "", id="in a group"
        ),
    ],
)
def test_bare_pods_of_a_closed_queue(
    obj: JsonObject, namespace: JsonObject, state: str, text: str
) -> None:
    obj = {**obj, "spec": {**obj["spec"], "schedulerName": "volcano"}}
    stored = (
        (kinds.NAMESPACE, {"metadata": {"name": "test", "annotations": namespace}}),
        (kinds.QUEUE, {"metadata": {"name": "q"}, "status": {"state": state}}),
    )
    assert verdict(pods.validating(Options()), create(kinds.POD, obj), *stored) == text
