"""URL and method → what is asked of which resource. Knows the shape of paths, not the kinds."""

from collections.abc import Mapping
from typing import NamedTuple

from volcano.server.refusals import method_not_allowed

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})
_OBJECT_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch"}


class Route(NamedTuple):
    """A resource request. `name` is empty for a collection, `namespace` for cluster scope or all.

    A tuple, because every request makes one.

    Attributes:
        verb: as RBAC names it: get, list, watch, create, update, patch, delete, deletecollection.
    """

    verb: str
    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def is_true(text: str | None) -> bool:
    """A boolean query parameter as Go reads it."""
    return text in _TRUE


def parse(method: str, path: str, query: Mapping[str, str]) -> Route | None:
    """The resource request behind a path, or None when it is no resource path.

    Raises:
        ApiError: MethodNotAllowed.
    """
    parts = path.split("/")
    if parts[1] == "api" and len(parts) > 3:
        group, version, rest = "", parts[2], parts[3:]
    elif parts[1] == "apis" and len(parts) > 4:
        group, version, rest = parts[2], parts[3], parts[4:]
    else:
        return None
    if rest[-1] == "":
        rest.pop()
    if not rest or "" in rest:
        return None
    namespace = ""
    if rest[0] == "namespaces" and (
        len(rest) > 3 or (len(rest) == 3 and rest[2] not in _NAMESPACE_SUBRESOURCES)
    ):
        namespace, rest = rest[1], rest[2:]
    plural = rest[0]
    name = rest[1] if len(rest) > 1 else ""
    subresource = "/".join(rest[2:])
    return Route(
        verb=_verb(method, named=bool(name), watching=is_true(query.get("watch"))),
        group=group,
        version=version,
        plural=plural,
        namespace=namespace,
        name=name,
        subresource=subresource,
    )


def _verb(method: str, *, named: bool, watching: bool) -> str:
    if method == "DELETE":
        return "delete" if named else "deletecollection"
    if method in ("GET", "HEAD"):
        if named:
            return "get"
        return "watch" if watching else "list"
    verb = _OBJECT_VERBS.get(method)
    if verb is None:
        raise method_not_allowed()
    return verb
