"""Sets of field paths in their wire form, `FieldsV1`, and the set algebra on it.

A set is a tree of dicts: `{"f:spec": {"f:replicas": {}, "f:ports": {".": {}, "k:{...}": {}}}}`.
Below the root a node is a member if it is empty or has the key `.`; the root itself never is.
Sets share subtrees, so no set is ever changed in place.
"""

import json
from collections.abc import Iterator
from typing import Any

FieldSet = dict[str, Any]
"""`{path element: FieldSet}`; elements are `f:NAME`, `k:{KEYS}`, `v:VALUE`, `i:INDEX` and `.`."""

LEAF: FieldSet = {}
"""The node of a member without members below it. Shared: never changed."""


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Members of either set."""
    if not left:
        return right
    if not right or left is right:
        return left
    result = dict(left)
    for key, node in right.items():
        mine = result.get(key)
        result[key] = node if mine is None else _union_nodes(mine, node)
    return result


def _union_nodes(left: FieldSet, right: FieldSet) -> FieldSet:
    if left is right:
        return left
    if not left:
        return right if not right or "." in right else {".": LEAF, **right}
    if not right:
        return left if "." in left else {".": LEAF, **left}
    return union(left, right)


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Members of `left` that are no members of `right`."""
    if not right or not left:
        return left
    result = {}
    for key, node in left.items():
        other = right.get(key)
        kept = node if other is None else _difference_nodes(node, other)
        if kept is not None:
            result[key] = kept
    return result


def _difference_nodes(left: FieldSet, right: FieldSet) -> FieldSet | None:
    if not left:
        return None if not right or "." in right else LEAF
    if not right:
        below = {key: node for key, node in left.items() if key != "."}
        return below or None
    return _normal(difference(left, right))


def _normal(node: FieldSet) -> FieldSet | None:
    """A node that may have lost everything below: `{".": {}}` is written `{}`, nothing is None."""
    if not node:
        return None
    return LEAF if len(node) == 1 and "." in node else node


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Members of both sets."""
    result = {}
    for key, node in left.items():
        other = right.get(key)
        if other is None:
            continue
        both = _intersection_nodes(node, other)
        if both is not None:
            result[key] = both
    return result


def _intersection_nodes(left: FieldSet, right: FieldSet) -> FieldSet | None:
    if not left:
        return LEAF if not right or "." in right else None
    if not right:
        return LEAF if "." in left else None
    return _normal(intersection(left, right))


def without_below(fields: FieldSet, roots: FieldSet) -> FieldSet:
    """`fields` less each member of `roots` and everything below it."""
    result = {}
    for key, node in fields.items():
        root = roots.get(key)
        if root is None:
            result[key] = node
        elif root and "." not in root:
            kept = _normal(without_below(node, root)) if node else LEAF
            if kept is not None:
                result[key] = kept
    return result


def of_paths(*paths: tuple[str, ...]) -> FieldSet:
    """The set of field names given, e.g. `("status",)` or `("metadata", "labels")`."""
    result: FieldSet = {}
    for path in paths:
        one: FieldSet = LEAF
        for name in reversed(path):
            one = {f"f:{name}": one}
        result = union(result, one)
    return result


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """Every member as Kubernetes prints it (`.spec.ports[name="http"].port`), parents first."""
    ordered = sorted(key for key in fields if key != ".")
    for key in ordered:
        if not fields[key] or "." in fields[key]:
            yield prefix + show_element(key)
    for key in ordered:
        if fields[key]:
            yield from paths(fields[key], prefix + show_element(key))


def show_element(key: str) -> str:
    """One path element as Kubernetes prints it."""
    kind, _, rest = key.partition(":")
    if kind == "f":
        return f".{rest}"
    if kind == "k":
        pairs = sorted(json.loads(rest).items())
        return "[" + ",".join(f"{name}={_shown(value)}" for name, value in pairs) + "]"
    return f"[={rest}]" if kind == "v" else f"[{rest}]"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
