"""`Schema`: one kind's OpenAPI schema, compiled when first used."""

from collections.abc import Mapping

from volcano.api.objects import JsonObject
from volcano.base.errors import Cause
from volcano.server.schema.check import list_duplicates, validate
from volcano.server.schema.conform import conform
from volcano.server.schema.defaults import apply_defaults
from volcano.server.schema.node import Compiler, Node


class Schema:
    """A kind's schema, ready for the write path.

    `prune`, `apply_defaults` and `validate` are called in this order. Make core kinds with one
    `Compiler`, so that their shared definitions are compiled once.

    Attributes:
        custom: a custom resource: wrong types are found by `validate` (422) instead of `prune`
            (400), and the schema's own defaults are applied.
    """

    def __init__(self, schema: JsonObject, compiler: Compiler, *, custom: bool) -> None:
        self.custom = custom
        self._schema = schema
        self._compiler = compiler
        self._root: Node | None = None

    @classmethod
    def compile(
        cls, schema: JsonObject, definitions: Mapping[str, JsonObject], *, custom: bool = False
    ) -> "Schema":
        """A schema whose `$ref`s point into `definitions`."""
        return cls(schema, Compiler(definitions), custom=custom)

    @property
    def root(self) -> Node:
        """The compiled schema of the whole object."""
        if self._root is None:
            self._root = self._compile()
        return self._root

    def _compile(self) -> Node:
        gvks = self._schema.get("x-kubernetes-group-version-kind", ())
        if self.custom or len(gvks) != 1:
            return self._compiler.compile(self._schema, root=self.custom)
        # The Go struct of a core kind is named after it; decoding errors say so.
        node = self._compiler.compile(self._schema)
        node.struct = str(gvks[0]["kind"])
        return node

    def prune(self, obj: JsonObject) -> list[str]:
        """Drop unknown fields, and nulls of fields that may not be null, in place.

        Returns:
            `unknown field "PATH"` for each unknown field; strict validation answers with them.

        Raises:
            DecodeError: a value of a core kind, or in metadata, has the wrong type.
        """
        return conform(self.root, obj, custom=self.custom)

    def apply_defaults(self, obj: JsonObject) -> None:
        """Fill in the defaults of a custom resource; core kinds have theirs in `validation`."""
        if self.custom:
            apply_defaults(self.root, obj)

    def validate(self, obj: JsonObject) -> list[Cause]:
        """What is wrong with a custom resource; nothing for core kinds (see `validation`)."""
        if not self.custom:
            return []
        found = list(validate(self.root, obj))
        return found or list(list_duplicates(self.root, obj))
