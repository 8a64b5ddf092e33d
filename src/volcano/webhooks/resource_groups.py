"""The resource-group file: defaults for pods of some namespaces or with some annotations.

One `resourceGroups:` list in YAML. An entry with object.key `namespace` or `annotation` says whose
pods it is for; the first entry that matches a pod gives it node labels, tolerations, an affinity
and a scheduler.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import yaml

from volcano.api import wellknown
from volcano.api.objects import JsonObject
from volcano.base.errors import ConfigError


@dataclass(frozen=True, slots=True)
class ResourceGroup:
    """One entry of the file.

    Attributes:
        key: `namespace`, `annotation`, or empty: annotation or the group's own name.
        values: namespaces, or one-line YAML maps of annotations.
        affinity: a JSON text; one that does not parse is not applied.
    """

    name: str = ""
    key: str = ""
    values: Sequence[str] = ()
    scheduler_name: str = ""
    tolerations: Sequence[JsonObject] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    affinity: str = ""

    def matches(self, namespace: str, annotations: Mapping[str, str]) -> bool:
        """Whether the group is for a pod of that namespace with those annotations."""
        match self.key:
            case "namespace":
                return namespace in self.values
            case "annotation":
                return self._annotation_matches(annotations)
            case "":
                own = annotations.get(wellknown.RESOURCE_GROUP, "") == self.name
                return own or self._annotation_matches(annotations)
            case _:
                return False

    def _annotation_matches(self, annotations: Mapping[str, str]) -> bool:
        wanted: dict[str, str] = {}
        for entry in self.values:
            for key, value in _one_line_map(entry).items():
                wanted.setdefault(key, value)
        return any(annotations.get(key, "") == value for key, value in wanted.items())

    def parsed_affinity(self) -> JsonObject | None:
        """The affinity, or None if there is none that parses."""
        try:
            affinity = msgspec.json.decode(self.affinity or "null")
        except msgspec.DecodeError:
            return None
        return affinity if isinstance(affinity, dict) else None


class _Object(msgspec.Struct):
    key: str = ""
    value: tuple[str, ...] = ()


class _Toleration(msgspec.Struct, rename="lower", omit_defaults=True):
    """Keys of the file are lower case throughout, also the seconds."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = msgspec.field(name="tolerationseconds", default=None)

    def to_json(self) -> JsonObject:
        pairs: JsonObject = {
            "key": self.key,
            "operator": self.operator,
            "value": self.value,
            "effect": self.effect,
            "tolerationSeconds": self.toleration_seconds,
        }
        return {key: value for key, value in pairs.items() if value not in ("", None)}


class _Group(msgspec.Struct, rename="camel"):
    resource_group: str = ""
    object: _Object | None = None
    scheduler_name: str = ""
    tolerations: tuple[_Toleration, ...] = ()
    labels: dict[str, str] = {}
    affinity: str = ""


class _File(msgspec.Struct, rename="camel"):
    resource_groups: tuple[_Group, ...] = ()


def parse(text: str) -> tuple[ResourceGroup, ...]:
    """The groups of a file, in its order.

    Raises:
        ConfigError: the text is no YAML, or a field has the wrong type.
    """
    try:
        read = msgspec.convert(yaml.load(text, Loader=yaml.CSafeLoader) or {}, _File)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise ConfigError(f"resource-group file: {error}") from error
    return tuple(
        ResourceGroup(
            name=group.resource_group,
            key=group.object.key if group.object else "",
            values=group.object.value if group.object else (),
            scheduler_name=group.scheduler_name,
            tolerations=tuple(toleration.to_json() for toleration in group.tolerations),
            labels=group.labels,
            affinity=group.affinity,
        )
        for group in read.resource_groups
    )


def _one_line_map(text: str) -> Mapping[str, str]:
    try:
        read: Any = yaml.load(text, Loader=yaml.CSafeLoader)
        return msgspec.convert(read, dict[str, str])
    except (yaml.YAMLError, msgspec.ValidationError):
        # An entry that is no map of texts names no annotation; the others still count.
        return {}
