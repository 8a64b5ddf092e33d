"""Derive `src/volcano/server/protobuf/fields.json` from the API modules of Kubernetes.

Clients that prefer protobuf number their fields; which number is which JSON field is told by two
files of each Go package: `generated.proto` (numbers and types) and `types.go` (JSON names, what is
inlined, and which zero values JSON leaves out). Kept are the messages that the core schemas need.

    python scripts/protobuf_fields.py     # fetches the modules with `go mod download`
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from volcano.api.schemas import KUBERNETES_VERSION, definitions

TARGET = Path(__file__).parents[1] / "src/volcano/server/protobuf/fields.json"
MODULES = ("k8s.io/api", "k8s.io/apimachinery", "k8s.io/apiextensions-apiserver")
SCALARS = ("string", "bytes", "bool", "int32", "int64", "double")
INLINE, KEEP_ZERO = 1, 2

_MESSAGE = re.compile(r"^message (\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(
    r"^\s*(optional|repeated)?\s*(map<string,\s*([\w.]+)>|[\w.]+)\s+(\w+)\s*=\s*(\d+);",
    re.MULTILINE,
)
_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_TAGGED = re.compile(
    r"""^\s*(?:\w+\s+)?(?P<type>[^\s`]+)\s+`json:"(?P<json>[^"]*)"[^`]*?
        protobuf:"\w+,(?P<number>\d+),""",
    re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True)
class Field:
    """One field of a message; `type` is a scalar or a message, `shape` "", "[]" or "{}"."""

    number: int
    name: str
    type: str
    shape: str
    flags: int

    def to_json(self) -> list[int | str]:
        """The row of the file."""
        return [self.number, self.name, f"{self.shape}{self.type}", self.flags]


def main() -> None:
    """Write the file."""
    version = f"v0.{KUBERNETES_VERSION.split('.', 1)[1]}"
    messages: dict[str, list[Field]] = {}
    for module in MODULES:
        for proto in sorted(module_folder(module, version).glob("**/generated.proto")):
            messages.update(read_package(proto))
    kept = closure(messages)
    table = {name: [field.to_json() for field in messages[name]] for name in sorted(kept)}
    lines = [
        f"{json.dumps(name)}:{json.dumps(table[name], separators=(',', ':'))}" for name in table
    ]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{TARGET.name}: {len(table)} messages of Kubernetes {KUBERNETES_VERSION}")


def module_folder(module: str, version: str) -> Path:
    """Where a module lies, fetched if needed."""
    command = ["go", "mod", "download", "-json", f"{module}@{version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed\n{done.stderr}")
    return Path(json.loads(done.stdout)["Dir"])


def read_package(proto: Path) -> Iterator[tuple[str, list[Field]]]:
    """The messages of one Go package, under the names that OpenAPI definitions have."""
    text = re.sub(r"//.*", "", proto.read_text())
    package_match = re.search(r"^package ([\w.]+);", text, re.MULTILINE)
    assert package_match is not None, proto
    package = package_match[1]
    tags: dict[tuple[str, int], tuple[str, int]] = {}
    for source in sorted(proto.parent.glob("*.go")):
        if "generated" not in source.name and not source.name.endswith("_test.go"):
            tags.update(read_tags(source))
    for name, body in _MESSAGE.findall(text):
        fields = []
        for label, type_, value, proto_name, number_text in _FIELD.findall(body):
            number = int(number_text)
            json_name, flags = tags.get((name, number), (proto_name, 0))
            shape = "{}" if value else "[]" if label == "repeated" else ""
            fields.append(
                Field(number, json_name, qualified(value or type_, package), shape, flags)
            )
        yield definition_name(f"{package}.{name}"), fields


def read_tags(source: Path) -> Iterator[tuple[tuple[str, int], tuple[str, int]]]:
    """JSON name and flags of each tagged struct field, by struct and number."""
    text = re.sub(r"^\s*//.*\n", "", source.read_text(), flags=re.MULTILINE)
    for name, body in _STRUCT.findall(text):
        for match in _TAGGED.finditer(body):
            json_name, *options = match["json"].split(",")
            flags = INLINE if "inline" in options else 0
            if match["type"].startswith("*") or "omitempty" not in options:
                flags |= KEEP_ZERO
            yield (name, int(match["number"])), (json_name, flags)


def qualified(type_: str, package: str) -> str:
    """A scalar as it is, a message by its definition's name."""
    if type_ in SCALARS:
        return type_
    return definition_name(type_[1:] if type_.startswith(".") else f"{package}.{type_}")


def definition_name(proto_name: str) -> str:
    """`k8s.io.api.core.v1.Pod` as OpenAPI names it: `io.k8s.api.core.v1.Pod`."""
    return proto_name.replace("k8s.io.", "io.k8s.", 1).replace("_", "-")


def closure(messages: dict[str, list[Field]]) -> set[str]:
    """The messages of all definitions and what they refer to."""
    found: set[str] = set()
    waiting = [name for name in definitions() if name in messages]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        waiting += [field.type for field in messages[name] if field.type not in SCALARS]
    return found


if __name__ == "__main__":
    main()
