"""The paths of a document: for each kind its collection, its objects and what is below them.

Clients read more from these than people do: kubectl looks for the `fieldValidation` parameter and
the patch types of the operation that carries a kind before it sends either.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from volcano.api.objects import JsonObject
from volcano.server.discovery import Subresource, subresources
from volcano.server.openapi.schemas import GVK, META, Names, gvk, reference
from volcano.server.registry import ServedKind

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def _query(name: str, type_: str, description: str) -> JsonObject:
    schema = {"type": type_, "uniqueItems": True}
    return {"name": name, "in": "query", "description": description, "schema": schema}


def _path(name: str, description: str) -> JsonObject:
    schema = {"type": "string", "uniqueItems": True}
    return {
        "name": name,
        "in": "path",
        "description": description,
        "required": True,
        "schema": schema,
    }


DRY_RUN = _query("dryRun", "string", "With All, every step is done but the storing.")
FIELD_MANAGER = _query("fieldManager", "string", "Name under which changed fields are recorded.")
FIELD_VALIDATION = _query(
    "fieldValidation",
    "string",
    "What to do with unknown or repeated fields: Ignore, Warn (the default) or Strict.",
)
FORCE = _query("force", "boolean", "Take fields over from other managers; for apply patches only.")
WRITE = (DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION)
SELECT = (
    _query("labelSelector", "string", "Restricts the objects by their labels."),
    _query("fieldSelector", "string", "Restricts the objects by their fields."),
    _query("limit", "integer", "Most objects in one answer; more come by `continue`."),
    _query("continue", "string", "Where the answer before ended."),
    _query("resourceVersion", "string", "How new the answer must be."),
    _query("resourceVersionMatch", "string", "How resourceVersion is meant."),
    _query("timeoutSeconds", "integer", "Limits the duration of the call."),
)
WATCH = (
    _query("watch", "boolean", "Stream the changes instead of listing."),
    _query("allowWatchBookmarks", "boolean", "Send bookmarks that carry only a resourceVersion."),
    _query("sendInitialEvents", "boolean", "Begin a watch with the objects that are there."),
)
DELETE = (
    DRY_RUN,
    _query("gracePeriodSeconds", "integer", "Seconds until the object is deleted; 0 is at once."),
    _query("propagationPolicy", "string", "Orphan, Background or Foreground for dependents."),
)
NAME = _path("name", "Name of the object.")
NAMESPACE = _path("namespace", "Namespace of the object.")
PRETTY = _query("pretty", "string", "Indent the answer.")


@dataclass(frozen=True, slots=True)
class _Spoken:
    """What an operation is about: names of the schemas, and the extension with the kind."""

    gvk: JsonObject
    body: str
    answer: str
    tag: str


def paths(entry: ServedKind, names: Names) -> dict[str, JsonObject]:
    """Path items of one kind."""
    kind = entry.kind
    own, listed = names.of(entry), names.of_list(entry)
    tag = f"{kind.group.partition('.')[0] or 'core'}_{kind.version}"
    spoken = _Spoken(gvk(kind), own, own, tag)
    listing = _Spoken(gvk(kind), own, listed, tag)
    scope = "{namespace}" if kind.namespaced else ""
    collection = kind.path(scope)
    found = {collection: _item(_collection(kind.verbs, spoken, listing), kind.namespaced)}
    if kind.namespaced and "list" in kind.verbs:
        everywhere = {"get": _operation("list", listing, (*SELECT, *WATCH))}
        found[kind.path()] = _item(everywhere, namespaced=False)
    one = _object(kind.verbs, spoken, strategic=not entry.custom)
    if one:
        found[kind.path(scope, "{name}")] = _item(one, kind.namespaced, NAME)
    for sub in subresources(kind):
        item = _subresource(entry, sub, names, tag)
        found[kind.path(scope, "{name}", sub.name)] = _item(item, kind.namespaced, NAME)
    return found


def _item(operations: JsonObject, namespaced: bool, *named: JsonObject) -> JsonObject:  # noqa: FBT001 - a fact of the kind, named at its source
    parameters = [*named, *((NAMESPACE,) if namespaced else ()), PRETTY]
    return {**operations, "parameters": parameters}


def _collection(verbs: Sequence[str], spoken: _Spoken, listing: _Spoken) -> JsonObject:
    operations: JsonObject = {}
    if "list" in verbs:
        operations["get"] = _operation("list", listing, (*SELECT, *WATCH))
    if "create" in verbs:
        operations["post"] = _operation("post", spoken, WRITE, body=_json_body(spoken.body))
    if "deletecollection" in verbs:
        status = _Spoken(spoken.gvk, spoken.body, f"{META}Status", spoken.tag)
        operations["delete"] = _operation(
            "deletecollection", status, (*DELETE, *SELECT), body=_json_body(f"{META}DeleteOptions")
        )
    return operations


def _object(verbs: Sequence[str], spoken: _Spoken, *, strategic: bool) -> JsonObject:
    operations: JsonObject = {}
    if "get" in verbs:
        operations["get"] = _operation("get", spoken, ())
    if "update" in verbs:
        operations["put"] = _operation("put", spoken, WRITE, body=_json_body(spoken.body))
    if "patch" in verbs:
        operations["patch"] = _operation(
            "patch", spoken, (*WRITE, FORCE), body=_patch_body(strategic=strategic)
        )
    if "delete" in verbs:
        status = _Spoken(spoken.gvk, spoken.body, f"{META}Status", spoken.tag)
        options = _json_body(f"{META}DeleteOptions", required=False)
        operations["delete"] = _operation("delete", status, DELETE, body=options)
    return operations


def _subresource(entry: ServedKind, sub: Subresource, names: Names, tag: str) -> JsonObject:
    kind = entry.kind
    spoken_gvk = {"group": sub.group, "kind": sub.kind, "version": sub.version}
    if spoken_gvk == gvk(kind):
        schema = names.of(entry)
    else:
        schema = names.defined(sub.group, sub.version, sub.kind) or ""
    spoken = _Spoken(spoken_gvk, schema, schema, tag)
    if sub.name == "log":
        return {"get": _text_operation(spoken)}
    if not schema:  # exec, attach, port-forward: connections, with no body to describe
        connect = {"get": "connect", "create": "connect"}
        methods = {"get": "get", "create": "post"}
        return {
            methods[verb]: _text_operation(spoken, action=connect[verb])
            for verb in sub.verbs
            if verb in methods
        }
    operations = _object(sub.verbs, spoken, strategic=not entry.custom)
    if "create" in sub.verbs:
        operations["post"] = _operation("post", spoken, WRITE, body=_json_body(schema))
    return operations


def _operation(
    action: str,
    spoken: _Spoken,
    parameters: Sequence[JsonObject],
    *,
    body: JsonObject | None = None,
) -> JsonObject:
    answer = {"application/json": {"schema": reference(spoken.answer)}}
    responses: JsonObject = {"200": {"description": "OK", "content": answer}}
    if action in ("post", "put", "patch"):
        responses["201"] = {"description": "Created", "content": answer}
    if action in ("post", "delete"):
        responses["202"] = {"description": "Accepted", "content": answer}
    responses["401"] = {"description": "Unauthorized"}
    operation: JsonObject = {
        "tags": [spoken.tag],
        "responses": responses,
        "x-kubernetes-action": action,
        GVK: spoken.gvk,
    }
    if parameters:
        operation["parameters"] = list(parameters)
    if body:
        operation["requestBody"] = body
    return operation


def _text_operation(spoken: _Spoken, *, action: str = "get") -> JsonObject:
    text = {"text/plain": {"schema": {"type": "string"}}}
    responses = {
        "200": {"description": "OK", "content": text},
        "401": {"description": "Unauthorized"},
    }
    return {
        "tags": [spoken.tag],
        "responses": responses,
        "x-kubernetes-action": action,
        GVK: spoken.gvk,
    }


def _json_body(schema: str, *, required: bool = True) -> JsonObject:
    body: JsonObject = {"content": {"application/json": {"schema": reference(schema)}}}
    return {**body, "required": True} if required else body


def _patch_body(*, strategic: bool) -> JsonObject:
    types = [JSON_PATCH, MERGE_PATCH, *((STRATEGIC_PATCH,) if strategic else ()), APPLY_PATCH]
    schema = {"schema": reference(f"{META}Patch")}
    return {"content": dict.fromkeys(types, schema), "required": True}
