"""Derive `src/volcano/api/data/core_schemas.json` from the OpenAPI documents of Kubernetes.

The Go module k8s.io/kubernetes carries the OpenAPI v3 documents of its kube-apiserver; this takes
from them what `volcano.api.schemas` serves: the shapes of the core kinds, no descriptions.

    python scripts/core_schemas.py                    # fetches the module with `go mod download`
    python scripts/core_schemas.py --from FOLDER      # a folder that holds *_openapi.json

What is left out besides descriptions: unions, and defaults that are only the zero value of a Go
field (`{}` anywhere, "" and 0 on required fields and on items): no server applies them.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from volcano.api.kinds import CORE_KINDS
from volcano.api.schemas import KUBERNETES_VERSION

Json = dict[str, Any]

TARGET = Path(__file__).parents[1] / "src/volcano/api/data/core_schemas.json"
REF = "#/components/schemas/"
META = "io.k8s.apimachinery.pkg.apis.meta.v1."
EXTRA_ROOTS = (
    "io.k8s.api.authentication.v1.TokenRequest",
    "io.k8s.api.autoscaling.v1.Scale",
    "io.k8s.api.core.v1.Binding",
    "io.k8s.api.policy.v1.Eviction",
    "io.k8s.apimachinery.pkg.version.Info",
    *(
        META + name
        for name in (
            "APIGroup",
            "APIGroupList",
            "APIResourceList",
            "APIVersions",
            "Condition",
            "DeleteOptions",
            "LabelSelector",
            "Patch",
            "Status",
            "WatchEvent",
        )
    ),
)
KEPT = (
    "type",
    "format",
    "required",
    "enum",
    "default",
    "nullable",
    "oneOf",
    "x-kubernetes-group-version-kind",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
)


def module_documents(version: str) -> Path:
    """The folder with the OpenAPI v3 documents of one Kubernetes version, fetched if needed."""
    command = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@{version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed; pass --from FOLDER instead\n{done.stderr}")
    return Path(json.loads(done.stdout)["Dir"]) / "api/openapi-spec/v3"


def read_definitions(folder: Path) -> dict[str, Json]:
    """All definitions of all documents of a folder; the documents agree where they overlap."""
    found: dict[str, Json] = {}
    for path in sorted(folder.glob("*_openapi.json")):
        document = json.loads(path.read_text())
        found.update(document.get("components", {}).get("schemas", {}))
    if not found:
        sys.exit(f"{folder}: no *_openapi.json with schemas in it")
    return found


def references(schema: Any) -> Iterator[str]:
    """Names of the definitions that a schema refers to."""
    if isinstance(schema, dict):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value.removeprefix(REF)
            else:
                yield from references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references(value)


def compact(schema: Json, *, required: bool = False) -> Json:
    """One schema with only what is kept; a lone reference loses its `allOf` wrapper."""
    kept = {key: schema[key] for key in KEPT if key in schema}
    default = kept.get("default")
    if default == {} or (required and default in ("", 0)):
        del kept["default"]
    parents = [parent["$ref"] for parent in schema.get("allOf", ())]
    reference = schema.get("$ref") or (parents[0] if parents else None)
    if reference is not None:
        return {"allOf": [{"$ref": reference}], **kept} if kept else {"$ref": reference}
    needed = schema.get("required", ())
    if "properties" in schema:
        kept["properties"] = {
            name: compact(schema["properties"][name], required=name in needed)
            for name in sorted(schema["properties"])
        }
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            kept[key] = compact(schema[key], required=True)
        elif key in schema:
            kept[key] = schema[key]
    return kept


def roots(definitions: dict[str, Json]) -> Iterator[str]:
    """Names of the definitions of our kinds and their lists, and of the extra roots."""
    wanted = {(kind.group, kind.version, kind.kind) for kind in CORE_KINDS}
    wanted |= {
        (kind.group, kind.version, kind.list_kind) for kind in CORE_KINDS if "list" in kind.verbs
    }
    for name, schema in definitions.items():
        for gvk in schema.get("x-kubernetes-group-version-kind", ()):
            if (gvk["group"], gvk["version"], gvk["kind"]) in wanted:
                wanted.discard((gvk["group"], gvk["version"], gvk["kind"]))
                yield name
    yield from EXTRA_ROOTS
    if wanted:
        sys.exit(f"the documents do not define {sorted(wanted)}")


def reachable(definitions: dict[str, Json], start: Iterable[str]) -> dict[str, Json]:
    """The compact definitions that can be reached from some names, in order of their names."""
    found: dict[str, Json] = {}
    todo = list(start)
    while todo:
        name = todo.pop()
        if name not in found:
            found[name] = compact(definitions[name])
            todo.extend(references(found[name]))
    return {name: found[name] for name in sorted(found)}


def keep_served_groups(definitions: dict[str, Json]) -> None:
    """Take group-version-kinds of groups we do not serve off the shared types (DeleteOptions …)."""
    served = {(kind.group, kind.version) for kind in CORE_KINDS}
    served |= {("autoscaling", "v1")}
    for schema in definitions.values():
        gvks = schema.get("x-kubernetes-group-version-kind")
        if gvks:
            schema["x-kubernetes-group-version-kind"] = [
                gvk for gvk in gvks if (gvk["group"], gvk["version"]) in served
            ]


def main() -> None:
    """Write the data file."""
    parser = argparse.ArgumentParser(description="derive the schemas of the core kinds")
    parser.add_argument("--from", dest="folder", type=Path, help="folder with *_openapi.json")
    folder = parser.parse_args().folder or module_documents(KUBERNETES_VERSION)
    definitions = read_definitions(folder)
    chosen = reachable(definitions, roots(definitions))
    keep_served_groups(chosen)
    lines = [
        f"{json.dumps(name)}:{json.dumps(schema, separators=(',', ':'))}"
        for name, schema in chosen.items()
    ]
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{TARGET.name}: {len(chosen)} definitions, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
