"""The core schema data: complete for our kinds, closed under references, and quick to read."""

import subprocess
import sys

import pytest

from volcano.api import schemas
from volcano.api.kinds import CORE_KINDS, POD, QUEUE, Kind


@pytest.mark.parametrize("kind", CORE_KINDS, ids=lambda kind: f"{kind.group}.{kind.kind}")
def test_every_core_kind_has_a_schema(kind: Kind) -> None:
    schema = schemas.core_schema(kind)
    assert schema["type"] == "object"
    assert schema["x-kubernetes-group-version-kind"] == [
        {"group": kind.group, "kind": kind.kind, "version": kind.version}
    ]


def test_no_reference_leads_nowhere() -> None:
    names = schemas.definitions()
    todo: list[object] = list(names.values())
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            reference = item.get("$ref")
            if isinstance(reference, str):
                assert reference.removeprefix(schemas.REFERENCE_PREFIX) in names
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)


def test_merge_keys_and_list_map_keys_of_container_ports() -> None:
    container = schemas.definitions()["io.k8s.api.core.v1.Container"]
    ports = container["properties"]["ports"]
    assert ports["x-kubernetes-list-map-keys"] == ["containerPort", "protocol"]
    assert ports["x-kubernetes-patch-merge-key"] == "containerPort"
    assert schemas.reference_of(ports["items"]) == "io.k8s.api.core.v1.ContainerPort"


def test_a_reference_beside_which_something_stands_is_read() -> None:
    strategy = schemas.definitions()["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["strategy"]
    assert strategy["x-kubernetes-patch-strategy"] == "retainKeys"
    assert schemas.reference_of(strategy) == "io.k8s.api.apps.v1.DeploymentStrategy"


def test_there_are_no_descriptions() -> None:
    assert "description" not in schemas.definitions()["io.k8s.api.core.v1.Container"]


def test_other_kinds_have_no_core_schema() -> None:
    with pytest.raises(KeyError):
        schemas.core_schema(QUEUE)
    assert schemas.definition_name(POD) == "io.k8s.api.core.v1.Pod"


def test_importing_reads_nothing() -> None:
    code = "from volcano.api import schemas; print(schemas.definitions.cache_info().currsize)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "0"
