"""The CRDs: in step with their source, structural, and as the spec's tables say."""

import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
import yaml

from volcano.api import crds, kinds
from volcano.api.batch import CronJobSpec, JobSpec, TaskSpec
from volcano.api.crd_definitions import manifests
from volcano.api.kinds import VOLCANO_KINDS, Kind
from volcano.api.scheduling import PodGroupSpec, QueueSpec

ROOT = Path(__file__).parents[2]
EXTENSIONS = {
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
}
KEYWORDS = EXTENSIONS | {
    "additionalProperties",
    "anyOf",
    "default",
    "description",
    "enum",
    "format",
    "items",
    "maximum",
    "maxItems",
    "maxLength",
    "minimum",
    "minItems",
    "minLength",
    "pattern",
    "properties",
    "required",
    "type",
}
JSON_TYPES = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list}


@cache
def by_kind() -> dict[str, dict[str, Any]]:
    return {crd["spec"]["names"]["kind"]: crd for crd in crds.load()}


def version_of(kind: Kind) -> dict[str, Any]:
    return by_kind()[kind.kind]["spec"]["versions"][0]


def at(kind: Kind, path: str) -> dict[str, Any]:
    """The schema of a field; `[]` steps into the items of a list."""
    schema: dict[str, Any] = version_of(kind)["schema"]["openAPIV3Schema"]
    for step in path.split("."):
        schema = schema["items"] if step == "[]" else schema["properties"][step]
    return schema


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from nodes(schema[key], f"{path}[{key}]")


@pytest.fixture(name="generator", scope="module")
def generator_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "scripts/generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_files_are_what_make_generate_would_write(generator: ModuleType) -> None:
    assert generator.stale(generator.generated()) == []


def test_yaml_and_json_say_the_same() -> None:
    deployed = [
        yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
        for path in sorted((ROOT / "deploy/crds").glob("*.yaml"))
    ]
    assert deployed == crds.load()


@pytest.mark.parametrize("kind", VOLCANO_KINDS, ids=lambda kind: kind.kind)
def test_names_and_scope_are_those_of_the_table_of_kinds(kind: Kind) -> None:
    crd = by_kind()[kind.kind]
    assert crd["metadata"]["name"] == kind.resource
    assert crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    spec = crd["spec"]
    assert spec["group"] == kind.group
    assert spec["scope"] == ("Namespaced" if kind.namespaced else "Cluster")
    assert spec["names"]["plural"] == kind.plural
    assert spec["names"].get("shortNames", []) == list(kind.short_names)
    assert len(spec["versions"]) == 1
    assert spec["versions"][0]["name"] == kind.version


@pytest.mark.parametrize("kind", VOLCANO_KINDS, ids=lambda kind: kind.kind)
def test_schemas_are_structural(kind: Kind) -> None:
    for path, schema in nodes(version_of(kind)["schema"]["openAPIV3Schema"]):
        assert schema.keys() <= KEYWORDS, path
        if schema.get("x-kubernetes-int-or-string"):
            assert "type" not in schema, path
            assert schema["anyOf"] == [{"type": "integer"}, {"type": "string"}], path
        else:
            assert schema["type"] in {*JSON_TYPES, "number"}, path
            assert "anyOf" not in schema, path
        assert not ("properties" in schema and "additionalProperties" in schema), path
        assert set(schema.get("required", ())) <= schema.get("properties", {}).keys(), path
        assert (schema.get("type") == "array") == ("items" in schema), path


@pytest.mark.parametrize("kind", VOLCANO_KINDS, ids=lambda kind: kind.kind)
def test_defaults_are_valid(kind: Kind) -> None:
    for path, schema in nodes(version_of(kind)["schema"]["openAPIV3Schema"]):
        if "default" not in schema:
            continue
        default = schema["default"]
        assert type(default) is JSON_TYPES[schema["type"]], path
        assert default in schema.get("enum", [default]), path
        if isinstance(default, int):
            assert schema.get("minimum", default) <= default <= schema.get("maximum", default), path


@pytest.mark.parametrize("kind", VOLCANO_KINDS, ids=lambda kind: kind.kind)
def test_list_map_keys_are_required_or_have_a_default(kind: Kind) -> None:
    for path, schema in nodes(version_of(kind)["schema"]["openAPIV3Schema"]):
        for key in schema.get("x-kubernetes-list-map-keys", ()):
            item = schema["items"]
            assert key in item.get("required", ()) or "default" in item["properties"][key], path


@pytest.mark.parametrize("kind", VOLCANO_KINDS, ids=lambda kind: kind.kind)
def test_every_field_of_ours_is_described(kind: Kind) -> None:
    schema = version_of(kind)["schema"]["openAPIV3Schema"]
    assert schema["description"]
    for name, child in schema["properties"].items():
        assert name == "metadata" or child["description"], name


# kind, path, expected part of the schema
FIELDS = {
    "job minAvailable": (kinds.JOB, "spec.minAvailable", {"format": "int32", "minimum": 0}),
    "job queue": (kinds.JOB, "spec.queue", {"default": "default", "maxLength": 253}),
    "job maxRetry": (kinds.JOB, "spec.maxRetry", {"default": 3, "minimum": 0}),
    "job minSuccess": (kinds.JOB, "spec.minSuccess", {"minimum": 1}),
    "job tasks": (kinds.JOB, "spec.tasks", {"minItems": 1}),
    "job task name": (
        kinds.JOB,
        "spec.tasks.[].name",
        {"maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
    ),
    "task numa policy": (
        kinds.JOB,
        "spec.tasks.[].topologyPolicy",
        {"enum": ["best-effort", "none", "restricted", "single-numa-node"]},
    ),
    "task partitions": (
        kinds.JOB,
        "spec.tasks.[].partitionPolicy",
        {"required": ["partitionSize", "totalPartitions"]},
    ),
    "job mount path": (
        kinds.JOB,
        "spec.volumes.[].mountPath",
        {"minLength": 1, "pattern": "^[^:]+$"},
    ),
    "topology mode": (
        kinds.JOB,
        "spec.networkTopology.mode",
        {"default": "hard", "enum": ["hard", "soft"]},
    ),
    "cron history": (kinds.CRON_JOB, "spec.failedJobsHistoryLimit", {"default": 1}),
    "cron suspend": (kinds.CRON_JOB, "spec.suspend", {"type": "boolean", "default": False}),
    "cron required": (kinds.CRON_JOB, "spec", {"required": ["jobTemplate", "schedule"]}),
    "cron job queue": (kinds.CRON_JOB, "spec.jobTemplate.spec.queue", {"default": "default"}),
    "cron active": (kinds.CRON_JOB, "status.active", {"x-kubernetes-list-type": "atomic"}),
    "group queue": (kinds.POD_GROUP, "spec.queue", {"default": "default"}),
    "subgroup size": (
        kinds.POD_GROUP,
        "spec.subGroupPolicy.[].subGroupSize",
        {"default": 1, "minimum": 1},
    ),
    "group transition": (
        kinds.POD_GROUP,
        "status.conditions.[].transitionID",
        {"type": "string"},
    ),
    "queue weight": (
        kinds.QUEUE,
        "spec.weight",
        {"default": 1, "minimum": 1, "maximum": 65535, "format": "int32"},
    ),
    "queue strategy": (kinds.QUEUE, "spec.dequeueStrategy", {"default": "traverse"}),
    "queue affinity": (
        kinds.QUEUE,
        "spec.affinity.nodeGroupAffinity.requiredDuringSchedulingIgnoredDuringExecution.[]",
        {"type": "string"},
    ),
    "command target": (
        kinds.COMMAND,
        "target",
        {
            "required": ["apiVersion", "kind", "name", "uid"],
            "x-kubernetes-map-type": "atomic",
        },
    ),
    "flow port": (
        kinds.JOB_FLOW,
        "spec.flows.[].dependsOn.probe.tcpSocketList.[].port",
        {"type": "integer", "minimum": 0, "maximum": 65535},
    ),
    "flow unknown jobs": (kinds.JOB_FLOW, "status.unKnowJobs.[]", {"type": "string"}),
    "flow patch": (kinds.JOB_FLOW, "spec.flows.[].patch.jobSpec.maxRetry", {"default": 3}),
    "template job": (kinds.JOB_TEMPLATE, "spec.maxRetry", {"default": 3}),
    "hypernode tier": (kinds.HYPER_NODE, "spec", {"required": ["tier"]}),
    "hypernode members": (kinds.HYPER_NODE, "spec.members", {"minItems": 1}),
    "numa cpu": (kinds.NUMATOPOLOGY, "spec.numares", {"type": "object"}),
    "colocation high": (
        kinds.COLOCATION_CONFIGURATION,
        "spec.memoryQos.highRatio",
        {"default": 100, "minimum": 0, "maximum": 100},
    ),
    "colocation conditions": (
        kinds.COLOCATION_CONFIGURATION,
        "status.conditions",
        {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    ),
    "shard nodes": (kinds.NODE_SHARD, "spec", {"required": ["nodesDesired"]}),
    "pod containers": (
        kinds.JOB,
        "spec.tasks.[].template.spec.containers",
        {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
    ),
    "container ports": (
        kinds.JOB,
        "spec.tasks.[].template.spec.containers.[].ports",
        {"x-kubernetes-list-map-keys": ["containerPort", "protocol"]},
    ),
    "port protocol": (
        kinds.JOB,
        "spec.tasks.[].template.spec.containers.[].ports.[].protocol",
        {"default": "TCP"},
    ),
    "spread constraints": (
        kinds.JOB,
        "spec.tasks.[].template.spec.topologySpreadConstraints",
        {"x-kubernetes-list-map-keys": ["topologyKey", "whenUnsatisfiable"]},
    ),
}


@pytest.mark.parametrize(("kind", "path", "expected"), FIELDS.values(), ids=FIELDS)
def test_field(kind: Kind, path: str, expected: dict[str, Any]) -> None:
    schema = at(kind, path)
    assert {key: schema.get(key) for key in expected} == expected


def test_the_metadata_of_templates_is_cut_down() -> None:
    fields = at(kinds.JOB, "spec.tasks.[].template.metadata")["properties"]
    assert sorted(fields) == ["annotations", "finalizers", "labels", "name", "namespace"]


def test_pod_templates_store_only_these_defaults() -> None:
    template = at(kinds.JOB, "spec.tasks.[].template")
    stored = {
        (path.rpartition(".")[2], schema["default"])
        for path, schema in nodes(template)
        if "default" in schema
    }
    assert stored == {
        ("protocol", "TCP"),
        ("name", ""),
        ("service", ""),
        ("optional", False),
        ("fsType", "ext4"),
        ("readOnly", False),
        ("iscsiInterface", "default"),
        ("keyring", "/etc/ceph/keyring"),
        ("pool", "rbd"),
        ("user", "admin"),
        ("fsType", "xfs"),
        ("storageMode", "ThinProvisioned"),
    }


def test_only_the_hypernode_selector_has_rules() -> None:
    found = [
        (kind.kind, path)
        for kind in VOLCANO_KINDS
        for path, schema in nodes(version_of(kind)["schema"]["openAPIV3Schema"])
        if "x-kubernetes-validations" in schema
    ]
    assert found == [("HyperNode", ".spec.members[items].selector")]


SUBRESOURCES = {
    kind: {"status": {}}
    for kind in VOLCANO_KINDS
    if kind not in {kinds.POD_GROUP, kinds.COMMAND, kinds.NUMATOPOLOGY}
} | {kinds.POD_GROUP: {}, kinds.COMMAND: None, kinds.NUMATOPOLOGY: None}


@pytest.mark.parametrize("kind", VOLCANO_KINDS, ids=lambda kind: kind.kind)
def test_subresources(kind: Kind) -> None:
    assert version_of(kind).get("subresources") == SUBRESOURCES[kind]


COLUMNS = {
    kinds.JOB: "STATUS minAvailable RUNNINGS AGE QUEUE",
    kinds.CRON_JOB: "",
    kinds.POD_GROUP: "STATUS minMember RUNNINGS AGE QUEUE",
    kinds.QUEUE: "PARENT",
    kinds.COMMAND: "",
    kinds.JOB_FLOW: "Status Age",
    kinds.JOB_TEMPLATE: "",
    kinds.HYPER_NODE: "Tier TierName NodeCount Age",
    kinds.NUMATOPOLOGY: "",
    kinds.COLOCATION_CONFIGURATION: "",
    kinds.NODE_SHARD: "AGE",
}


@pytest.mark.parametrize("kind", VOLCANO_KINDS, ids=lambda kind: kind.kind)
def test_printer_columns(kind: Kind) -> None:
    columns = version_of(kind).get("additionalPrinterColumns", [])
    assert " ".join(column["name"] for column in columns) == COLUMNS[kind]
    assert [c["name"] for c in columns if c.get("priority")] == (
        ["QUEUE"] if "QUEUE" in COLUMNS[kind] else []
    )


def test_every_kind_has_a_crd() -> None:
    assert set(manifests()) == set(VOLCANO_KINDS)
    assert len(crds.load()) == len(VOLCANO_KINDS)


def test_readers_ignore_unknown_fields_and_fill_in_defaults() -> None:
    task = msgspec.convert({"name": "a", "shiny": 1}, TaskSpec)
    assert (task.name, task.replicas, task.min_available) == ("a", 0, None)
    spec = msgspec.convert({"tasks": [{"name": "a"}], "plugins": {"svc": []}}, JobSpec)
    assert (spec.queue, spec.max_retry, spec.plugins) == ("default", 3, {"svc": ()})
    assert msgspec.convert({}, PodGroupSpec).queue == "default"
    assert msgspec.convert({"capability": {"cpu": 4, "memory": "1Gi"}}, QueueSpec).capability == {
        "cpu": 4,
        "memory": "1Gi",
    }
    with pytest.raises(msgspec.ValidationError, match="schedule"):
        msgspec.convert({}, CronJobSpec)
