"""What this server serves: built-in kinds and those that CRDs add, with schemas and columns.

Discovery, OpenAPI, tables and the write path all read this one registry; nothing else keeps a
list of kinds. `generation` changes whenever an entry does, so that readers can cache.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject


@dataclass(frozen=True, slots=True)
class Column:
    """A printer column (metav1.TableColumnDefinition) and, for CRDs, where its value is."""

    name: str
    type: str
    json_path: str = ""
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class ServedKind:
    """One kind as served.

    Attributes:
        schema: OpenAPI v3 schema of the object. May hold `$ref`s into `Registry.definitions`.
        crd: the CustomResourceDefinition that brought it, None for built-in kinds.
        columns: a CRD's additionalPrinterColumns; empty for built-in kinds (tables.py has theirs).
    """

    kind: Kind
    schema: JsonObject
    crd: JsonObject | None = None
    columns: tuple[Column, ...] = ()

    @property
    def custom(self) -> bool:
        """Whether a CRD brought it: no strategic merge patch, pruning by schema."""
        return self.crd is not None


class Registry:
    """The kinds served now, by (group, version, plural)."""

    def __init__(self, served: Iterable[ServedKind], definitions: Mapping[str, JsonObject]) -> None:
        self.definitions = definitions
        self.generation = 1
        self._served = {
            (entry.kind.group, entry.kind.version, entry.kind.plural): entry for entry in served
        }

    def find(self, group: str, version: str, plural: str) -> ServedKind | None:
        """The kind behind a URL, or None."""
        return self._served.get((group, version, plural))

    def all(self) -> list[ServedKind]:
        """Every served kind, in the order of registration."""
        return list(self._served.values())

    def put(self, entry: ServedKind) -> None:
        """Add or replace a kind."""
        self._served[(entry.kind.group, entry.kind.version, entry.kind.plural)] = entry
        self.generation += 1

    def remove(self, kind: Kind) -> None:
        """Stop serving a kind."""
        if self._served.pop((kind.group, kind.version, kind.plural), None) is not None:
            self.generation += 1
