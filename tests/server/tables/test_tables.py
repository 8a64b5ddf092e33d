"""The Table around the rows, the columns of CRDs, and what kubectl prints."""

from pathlib import Path

import pytest

from tests.server import registry_of_all
from tests.server.kubectl_front import NOW, Front, kubectl
from volcano.api import kinds
from volcano.base.clock import timestamp
from volcano.server import tables
from volcano.server.registry import Column, ServedKind

POD = ServedKind(kinds.POD, {})


def custom(*columns: Column) -> ServedKind:
    kind = registry_of_all.widgets().kind
    return ServedKind(kind, {}, crd={}, columns=columns)


@pytest.mark.parametrize(
    ("include", "held"),
    [
        ("None", None),
        (
            "Metadata",
            {
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": {"name": "p"},
            },
        ),
        ("Object", {"metadata": {"name": "p"}, "spec": {}}),
    ],
)
def test_what_a_row_carries(include, held) -> None:
    obj = {"metadata": {"name": "p"}, "spec": {}}
    assert tables.row(POD, obj, NOW, include)["object"] == held


def test_table_of_a_list_and_of_a_watch() -> None:
    listed = tables.table(
        POD, [{"metadata": {"name": "p"}}], NOW, list_metadata={"resourceVersion": "7"}
    )
    assert (listed["kind"], listed["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert listed["metadata"] == {"resourceVersion": "7"}
    assert listed["columnDefinitions"][0] == {
        "name": "Name",
        "type": "string",
        "format": "name",
        "description": "Name of the object, unique in its namespace.",
        "priority": 0,
    }
    later = tables.table(POD, [{"metadata": {"name": "p"}}], NOW, with_columns=False)
    assert later["columnDefinitions"] is None
    assert later["rows"] == listed["rows"]


OBJECT = {
    "metadata": {"name": "w", "creationTimestamp": timestamp(NOW - 300)},
    "spec": {"size": 3, "ratio": 0.5, "on": True, "tags": ["a", "b"], "text": "t"},
    "status": {"conditions": [{"type": "Ready", "status": "True"}], "at": timestamp(NOW - 7200)},
}


@pytest.mark.parametrize(
    ("type_", "path", "cell"),
    [
        ("string", ".spec.text", "t"),
        ("string", ".spec.size", "3"),
        ("string", ".spec.on", "true"),
        ("string", ".spec.tags", '["a","b"]'),
        ("string", ".spec.tags[1]", "b"),
        ("string", '.status.conditions[?(@.type=="Ready")].status', "True"),
        ("string", ".spec.missing", None),
        ("integer", ".spec.size", 3),
        ("integer", ".spec.text", None),
        ("number", ".spec.ratio", 0.5),
        ("boolean", ".spec.on", True),
        ("boolean", ".spec.size", None),
        ("date", ".status.at", "120m"),
        ("date", ".status.missing", None),
        ("date", ".spec.text", "<unknown>"),
    ],
)
def test_cell_of_a_declared_column(type_: str, path: str, cell) -> None:
    entry = custom(Column("C", type_, path))
    assert tables.row(entry, OBJECT, NOW)["cells"] == ["w", cell]


def test_a_crd_without_columns_shows_name_and_age() -> None:
    assert [column.name for column in tables.columns(custom())] == ["Name", "Age"]
    assert tables.row(custom(), OBJECT, NOW)["cells"] == ["w", "5m"]


@pytest.mark.parametrize("entry", registry_of_all.volcano(), ids=lambda entry: entry.kind.resource)
def test_columns_of_our_crds_can_be_read(entry: ServedKind) -> None:
    cells = tables.row(entry, OBJECT, NOW)["cells"]
    assert len(cells) == len(tables.columns(entry))


@pytest.mark.process
def test_kubectl_prints_pods_and_jobs(tmp_path: Path) -> None:
    pod = {
        "metadata": {"name": "p", "namespace": "default", "creationTimestamp": timestamp(NOW - 5)},
        "spec": {"containers": [{"name": "c"}], "nodeName": "n1"},
        "status": {"phase": "Pending"},
    }
    job = {
        "metadata": {"name": "j", "creationTimestamp": timestamp(NOW - 300)},
        "spec": {"minAvailable": 2, "queue": "default"},
        "status": {"state": {"phase": "Running"}, "running": 2},
    }
    objects = {
        "/api/v1/namespaces/default/pods": [pod],
        "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs": [job],
    }
    front = Front(registry_of_all.everything(), objects)
    assert kubectl(front, tmp_path, "get", "po") == (
        "NAME   READY   STATUS    RESTARTS   AGE\np      0/1     Pending   0          5s\n"
    )
    wide = kubectl(front, tmp_path, "get", "pods", "-o", "wide").splitlines()
    assert wide[0].split("   ")[-1].strip() == "READINESS GATES"
    header, line = kubectl(front, tmp_path, "get", "vcjob").splitlines()
    assert header.split()[:2] == ["NAME", "STATUS"]
    assert line.split()[:2] == ["j", "Running"]
