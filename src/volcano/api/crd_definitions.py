"""The CRDs of the Volcano kinds: which struct, which printer columns, which name.

`scripts/generate.py` writes what `manifests` returns to `volcano/api/crds/` and `deploy/crds/`;
at run time `volcano.api.crds` reads the former.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from volcano.api import kinds
from volcano.api.batch import CronJob, Job
from volcano.api.bus import Command
from volcano.api.config import ColocationConfiguration
from volcano.api.flow import JobFlow, JobTemplate
from volcano.api.kinds import Kind
from volcano.api.nodeinfo import Numatopology
from volcano.api.objects import JsonObject
from volcano.api.scheduling import PodGroup, Queue
from volcano.api.shard import NodeShard
from volcano.api.structural import struct_schema
from volcano.api.topology import HyperNode

_STRUCTS: Mapping[Kind, type[msgspec.Struct]] = {
    kinds.JOB: Job,
    kinds.CRON_JOB: CronJob,
    kinds.POD_GROUP: PodGroup,
    kinds.QUEUE: Queue,
    kinds.COMMAND: Command,
    kinds.JOB_FLOW: JobFlow,
    kinds.JOB_TEMPLATE: JobTemplate,
    kinds.HYPER_NODE: HyperNode,
    kinds.NUMATOPOLOGY: Numatopology,
    kinds.COLOCATION_CONFIGURATION: ColocationConfiguration,
    kinds.NODE_SHARD: NodeShard,
}


@dataclass(frozen=True, slots=True)
class Column:
    """A printer column: what `kubectl get` shows; priority 1 only with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0

    def to_json(self) -> JsonObject:
        """As `additionalPrinterColumns` writes it."""
        column: JsonObject = {"name": self.name, "type": self.type, "jsonPath": self.path}
        return {**column, "priority": self.priority} if self.priority else column


def _age(name: str = "AGE") -> Column:
    return Column(name, ".metadata.creationTimestamp", "date")


_COLUMNS: Mapping[Kind, tuple[Column, ...]] = {
    kinds.JOB: (
        Column("STATUS", ".status.state.phase"),
        Column("minAvailable", ".status.minAvailable", "integer"),
        Column("RUNNINGS", ".status.running", "integer"),
        _age(),
        Column("QUEUE", ".spec.queue", priority=1),
    ),
    kinds.POD_GROUP: (
        Column("STATUS", ".status.phase"),
        Column("minMember", ".spec.minMember", "integer"),
        Column("RUNNINGS", ".status.running", "integer"),
        _age(),
        Column("QUEUE", ".spec.queue", priority=1),
    ),
    kinds.QUEUE: (Column("PARENT", ".spec.parent"),),
    kinds.JOB_FLOW: (Column("Status", ".status.state.phase"), _age("Age")),
    kinds.HYPER_NODE: (
        # The tier is a number; the column is text, as clients of the original know it.
        Column("Tier", ".spec.tier"),
        Column("TierName", ".spec.tierName"),
        Column("NodeCount", ".status.nodeCount", "integer"),
        _age("Age"),
    ),
    kinds.NODE_SHARD: (_age(),),
}

# Told apart from "no sub-resources": PodGroup declares none of them in an empty object.
_EMPTY_SUBRESOURCES = frozenset({kinds.POD_GROUP})


def file_stem(kind: Kind) -> str:
    """Name of a CRD's files without suffix, e.g. `batch.volcano.sh_jobs`."""
    return f"{kind.group}_{kind.plural}"


def manifests() -> Mapping[Kind, JsonObject]:
    """The CRD of each Volcano kind, made anew."""
    return {kind: _manifest(kind, struct) for kind, struct in _STRUCTS.items()}


def _manifest(kind: Kind, struct: type[msgspec.Struct]) -> JsonObject:
    version: JsonObject = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _whole_object(struct)},
    }
    if kind.subresources:
        version["subresources"] = {name: {} for name in kind.subresources}
    elif kind in _EMPTY_SUBRESOURCES:
        version["subresources"] = {}
    if kind in _COLUMNS:
        version["additionalPrinterColumns"] = [column.to_json() for column in _COLUMNS[kind]]
    names: JsonObject = {
        "kind": kind.kind,
        "listKind": kind.list_kind,
        "plural": kind.plural,
        "singular": kind.singular,
    }
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": f"{kind.plural}.{kind.group}",
            # helm uninstall must not delete every job of the cluster.
            "annotations": {"helm.sh/resource-policy": "keep"},
        },
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [version],
        },
    }


def _whole_object(struct: type[msgspec.Struct]) -> JsonObject:
    """A kind's schema; metadata is checked by the API server itself."""
    schema = struct_schema(struct)
    own = {
        "apiVersion": {"description": "Group and version of this object.", "type": "string"},
        "kind": {"description": "Kind of this object.", "type": "string"},
        "metadata": {"type": "object"},
    }
    return {**schema, "properties": {**schema["properties"], **own}}
