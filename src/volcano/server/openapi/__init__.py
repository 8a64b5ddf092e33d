"""OpenAPI documents from the registry: v3 per group and version with an index, and v2.

The index names each document by a fingerprint of what it is made from, so that clients fetch a
document again only when it changed, and no document is made before it is asked for. Once made it
is kept, with its gzipped twin, until a kind in its group changes.
"""

import hashlib
from dataclasses import dataclass

import msgspec

import volcano
from volcano.api.objects import JsonObject
from volcano.api.schemas import KUBERNETES_VERSION
from volcano.base.errors import ApiError, ErrorDetails
from volcano.base.http import Request, Response
from volcano.server import accept
from volcano.server.discovery import groups
from volcano.server.documents import Document
from volcano.server.openapi import operations, schemas, swagger
from volcano.server.registry import Registry, ServedKind

ROOT = "/openapi/v3"
SWAGGER = "/openapi/v2"
HEAD_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
FORM = 2
"""Raise it when documents change though their kinds do not: clients keep them by fingerprint."""

FOREVER = {"cache-control": "public, max-age=31536000, immutable"}
INFO: JsonObject = {"title": "Kubernetes", "version": f"{KUBERNETES_VERSION}"}


@dataclass(slots=True)
class _Group:
    """One group and version: its kinds, their fingerprint, and the document once it was made."""

    entries: tuple[ServedKind, ...]
    fingerprint: str
    document: Document | None = None


class OpenApi:
    """Answers /openapi/v3, /openapi/v3/… and /openapi/v2 from the registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._names = schemas.Names(registry.definitions)
        self._generation = 0
        self._groups: dict[str, _Group] = {}
        self._index: Document | None = None
        self._swagger: Document | None = None
        self._head = Document(swagger.protobuf_head(INFO), HEAD_TYPE)

    def answer(self, request: Request) -> Response | None:
        """The answer to a GET; None when the path is not below /openapi.

        Raises:
            ApiError: NotFound for a group that is not here and for v2 in a form it does not have,
                NotAcceptable for v3 as anything but JSON.
        """
        path = request.path.rstrip("/")
        if path == SWAGGER:
            return self._answer_v2(request)
        if path != ROOT and not path.startswith(f"{ROOT}/"):
            return None
        if not accept.accepts_json(request.headers.get("accept", "")):
            raise ApiError("NotAcceptable", "only application/json is served below /openapi/v3")
        self._refresh()
        if path == ROOT:
            return self._index_document().answer(request)
        return self._answer_group(request, path.removeprefix(f"{ROOT}/"))

    def document(self, group_version: str) -> JsonObject:
        """The v3 document of e.g. `api/v1` or `apis/apps/v1`.

        Raises:
            KeyError: nothing of that group and version is served.
        """
        self._refresh()
        return self._build(self._groups[group_version].entries)

    def _answer_group(self, request: Request, name: str) -> Response:
        group = self._groups.get(name)
        if group is None:
            raise _not_found()
        asked = request.query.get("hash")
        if asked is not None and asked != group.fingerprint:
            return Response(301, {"location": _url(name, group.fingerprint)})
        if group.document is None:
            group.document = Document(msgspec.json.encode(self._build(group.entries)))
        return group.document.answer(request, FOREVER if asked else None)

    def _answer_v2(self, request: Request) -> Response:
        asked = request.headers.get("accept", "")
        if not accept.accepts_json(asked):
            if "protobuf" not in asked:
                raise _not_found()
            return self._head.answer(request)
        self._refresh()
        if self._swagger is None:
            documents = [self._build(group.entries) for group in self._groups.values()]
            self._swagger = Document(msgspec.json.encode(swagger.swagger(documents, INFO)))
        return self._swagger.answer(request)

    def _refresh(self) -> None:
        if self._generation == self._registry.generation:
            return
        self._generation = self._registry.generation
        self._index = self._swagger = None
        before, self._groups = self._groups, {}
        for group, versions in groups(self._registry).items():
            for version, kinds in versions.items():
                name = f"apis/{group}/{version}" if group else f"api/{version}"
                entries, old = tuple(kinds), before.get(name)
                if old is not None and _same(old.entries, entries):
                    self._groups[name] = old
                else:
                    self._groups[name] = _Group(entries, _fingerprint(entries))

    def _index_document(self) -> Document:
        if self._index is None:
            paths = {
                name: {"serverRelativeURL": _url(name, group.fingerprint)}
                for name, group in sorted(self._groups.items())
            }
            self._index = Document(msgspec.json.encode({"paths": paths}))
        return self._index

    def _build(self, entries: tuple[ServedKind, ...]) -> JsonObject:
        paths: JsonObject = {}
        own: dict[str, JsonObject] = {}
        definitions = self._registry.definitions
        for entry in entries:
            paths.update(operations.paths(entry, self._names))
            if entry.custom or self._names.of(entry) not in definitions:
                own.update(schemas.own_schemas(entry, self._names))
        wanted = [*own, *schemas.references(paths)]
        return {
            "openapi": "3.0.0",
            "info": INFO,
            "paths": dict(sorted(paths.items())),
            "components": {"schemas": schemas.closure(wanted, own, definitions)},
        }


def _same(before: tuple[ServedKind, ...], after: tuple[ServedKind, ...]) -> bool:
    return len(before) == len(after) and all(
        one is other for one, other in zip(before, after, strict=True)
    )


def _fingerprint(entries: tuple[ServedKind, ...]) -> str:
    digest = hashlib.sha256(f"{FORM} {volcano.__version__} {KUBERNETES_VERSION}".encode())
    for entry in entries:
        digest.update(repr(entry.kind).encode())
        if entry.custom:  # schemas of built-in kinds come with the version
            digest.update(msgspec.json.encode(entry.schema))
    return digest.hexdigest().upper()


def _url(name: str, fingerprint: str) -> str:
    return f"{ROOT}/{name}?hash={fingerprint}"


def _not_found() -> ApiError:
    return ApiError(
        "NotFound", "the server could not find the requested resource", details=ErrorDetails()
    )
