"""Objects as documents: printing as JSON or YAML, reading a manifest; yaml is imported late."""

import json
import re
import sys
from pathlib import Path
from typing import Any

from volcano.api.objects import JsonObject
from volcano.base.errors import ConfigError

_INTEGER = re.compile(r"[-+]?(0|0[0-7]+|[1-9]\d*|0x[0-9a-fA-F]+)$")
_FLOAT = re.compile(r"[-+]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][-+]?\d+)?$")


def show(document: JsonObject, form: str) -> None:
    """Print an object as `json` (four blanks, as kubectl) or `yaml` (sorted keys)."""
    if form == "json":
        sys.stdout.write(json.dumps(document, indent=4, ensure_ascii=False, sort_keys=True) + "\n")
        return
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    yaml.dump(document, sys.stdout, Dumper=dumper, sort_keys=True, allow_unicode=True)


def without_managed_fields(obj: JsonObject) -> JsonObject:
    """The object without `metadata.managedFields`, which only machines read."""
    meta = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    return {**obj, "metadata": meta}


def read_manifest(filename: str) -> JsonObject:
    """The one object in a YAML file; `-` reads standard input.

    Raises:
        ConfigError: unreadable, not YAML, not one mapping; the texts are those of spec cli 2.1.
    """
    if filename != "-" and ".yaml" not in filename and ".yml" not in filename:
        raise ConfigError("only support yaml file")
    try:
        text = sys.stdin.read() if filename == "-" else Path(filename).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror.lower() if isinstance(error, OSError) and error.strerror else error
        raise ConfigError(f"failed to read file, err: open {filename}: {reason}") from error
    documents = _parse(text)
    if len(documents) != 1:
        raise ConfigError(
            f"failed to unmarshal file, err:  {filename} holds {len(documents)} documents;"
            " write one job to a file"
        )
    if not isinstance(documents[0], dict):
        raise ConfigError(f"failed to unmarshal file, err:  {filename} does not hold an object")
    return documents[0]


def _parse(text: str) -> list[Any]:
    import yaml

    try:
        documents = list(yaml.load_all(text, Loader=_loader()))
    except yaml.YAMLError as error:
        raise ConfigError(f"failed to unmarshal file, err:  {error}") from error
    return [document for document in documents if document is not None]


def _loader() -> Any:
    """A safe loader that makes JSON values only: no dates, and `22:22` stays a text."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    replaced = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
    loader: Any = type("JsonLoader", (base,), {})
    no_json = {f"tag:yaml.org,2002:{name}" for name in ("binary", "set", "timestamp")}
    loader.yaml_constructors = {
        tag: make for tag, make in base.yaml_constructors.items() if tag not in no_json
    }
    loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in replaced]
        for first, resolvers in base.yaml_implicit_resolvers.items()
    }
    loader.add_implicit_resolver("tag:yaml.org,2002:int", _INTEGER, list("-+0123456789"))
    loader.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+0123456789."))
    return loader
