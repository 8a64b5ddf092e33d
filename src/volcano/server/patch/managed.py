"""Managed fields: who set which field, for ordinary writes and for server-side apply.

The rules are those of Kubernetes: a writer owns what it added or changed and the others lose it;
an applier owns what its configuration names, conflicts with whoever owns a field it changes, and
what it no longer names goes unless somebody else owns it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base.clock import parse_timestamp, timestamp
from volcano.base.errors import ApiError, Cause, ErrorDetails
from volcano.base.limits import FIELD_MANAGER_CHARS_MAX, MANAGED_FIELDS_UPDATE_MANAGERS_MAX
from volcano.server.patch import typed
from volcano.server.patch.errors import bad_patch, untyped
from volcano.server.patch.fieldset import (
    LEAF,
    FieldSet,
    difference,
    intersection,
    of_paths,
    paths,
    union,
    without_below,
)
from volcano.server.schema.causes import quote
from volcano.server.schema.node import Node
from volcano.server.schema.schema import Schema

ANCIENT = "ancient-changes"
BEFORE_FIRST_APPLY = "before-first-apply"

_NOT_OWNED = ("apiVersion", "kind")
_ELSEWHERE = frozenset({*_NOT_OWNED, "metadata"})
_META_NOT_OWNED = frozenset(
    {
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    }
)
_STRIPPED = of_paths(
    *((name,) for name in _NOT_OWNED),
    ("metadata",),
    *(("metadata", name) for name in _META_NOT_OWNED),
)
_NO_RESET: FieldSet = {}
_SPEC_RESET = of_paths(("status",))
_STATUS_RESET = of_paths(
    ("spec",), ("metadata", "deletionTimestamp"), ("metadata", "ownerReferences")
)
_CUSTOM_STATUS_RESET = of_paths(("spec",), ("metadata",))


def reset_fields(kind: Kind, subresource: str = "", *, custom: bool = False) -> FieldSet:
    """What a write to this resource never changes, so that nobody owns it by such a write."""
    if "status" not in kind.subresources:
        return _NO_RESET
    if subresource == "":
        return _SPEC_RESET
    if subresource == "status":
        return _CUSTOM_STATUS_RESET if custom else _STATUS_RESET
    return _NO_RESET


def manager_name(field_manager: str, user_agent: str) -> str:
    """The manager of a write: as asked, else the user agent up to its first slash."""
    if field_manager:
        return field_manager
    head = user_agent.partition("/")[0]
    return "".join(char for char in head if char.isprintable())[:FIELD_MANAGER_CHARS_MAX]


@dataclass(frozen=True, slots=True)
class Manager:
    """Who an entry belongs to; appliers have one entry whatever version they apply."""

    name: str
    operation: str
    api_version: str
    subresource: str


@dataclass(slots=True)
class Entry:
    """What a manager owns, in which version it was written, and when (seconds, None unknown)."""

    fields: FieldSet
    api_version: str
    time: float | None


Managers = dict[Manager, Entry]


def read_managers(obj: JsonObject) -> Managers:
    """The managers of an object; entries that make no sense are left out."""
    managers: Managers = {}
    meta = obj.get("metadata")
    if not isinstance(meta, dict):
        return managers
    for entry in meta.get("managedFields") or ():
        fields = entry.get("fieldsV1")
        operation = entry.get("operation")
        if not isinstance(fields, dict) or operation not in ("Apply", "Update"):
            continue
        version = entry.get("apiVersion", "")
        manager = Manager(
            entry.get("manager", ""),
            operation,
            version if operation == "Update" else "",
            entry.get("subresource", ""),
        )
        managers[manager] = Entry(fields, version, _seconds(entry.get("time")))
    return managers


def _seconds(text: Any) -> float | None:
    try:
        return parse_timestamp(text) if isinstance(text, str) else None
    except ValueError:
        return None


def write_managers(obj: JsonObject, managers: Managers) -> None:
    """Store the managers in an object: appliers first, then by time and name."""
    meta = obj.setdefault("metadata", {})
    if not managers:
        meta.pop("managedFields", None)
        return
    ordered = sorted(
        managers.items(),
        key=lambda pair: (
            pair[0].operation,
            int(pair[1].time or 0),
            pair[0].name,
            pair[1].api_version,
            pair[0].subresource,
        ),
    )
    meta["managedFields"] = [_entry(manager, entry) for manager, entry in ordered]


def _entry(manager: Manager, entry: Entry) -> JsonObject:
    written: JsonObject = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": entry.api_version,
    }
    if entry.time is not None:
        written["time"] = timestamp(entry.time)
    written["fieldsType"] = "FieldsV1"
    written["fieldsV1"] = entry.fields
    if manager.subresource:
        written["subresource"] = manager.subresource
    return written


def track_update(
    old: JsonObject | None,
    new: JsonObject,
    manager: str,
    *,
    schema: Schema,
    now: float,
    operation: str = "Update",
    subresource: str = "",
    reset: FieldSet = _NO_RESET,
) -> None:
    """Set `new`'s managed fields after an ordinary create, update or patch.

    Args:
        old: the stored object, None when `new` is being created.
        manager: see `manager_name`.
        now: seconds since the epoch.
        reset: `reset_fields(...)`: not owned by writes to this resource.

    An object stored without managed fields stays without, until the first apply.
    """
    version = str(new.get("apiVersion", ""))
    identity = Manager(manager, operation, version, subresource)
    if old is None:
        fields = _created_fields(new, schema, reset)
        write_managers(new, {identity: Entry(fields, version, now)} if fields else {})
        return
    managers = _given_managers(old, new, subresource)
    if not managers:
        new.get("metadata", {}).pop("managedFields", None)
        return
    _record(managers, identity, old, new, schema.root, now, reset)
    _cap(managers)
    write_managers(new, managers)


def _created_fields(new: JsonObject, schema: Schema, reset: FieldSet) -> FieldSet:
    root = schema.root
    fields: FieldSet = {}
    meta = new.get("metadata")
    if meta:
        kept = {name: item for name, item in meta.items() if name not in _META_NOT_OWNED}
        inner = typed.created(root.fields["metadata"], kept, custom=True) if kept else None
        if inner:
            fields["f:metadata"] = inner
    owned = {
        name: item
        for name, item in new.items()
        if name not in _ELSEWHERE and reset.get(f"f:{name}") != LEAF
    }
    fields.update(typed.created(root, owned, custom=schema.custom))
    return fields


def _given_managers(old: JsonObject, new: JsonObject, subresource: str) -> Managers:
    """A write may carry changed managed fields, or `[]` or `[{}]` to drop them."""
    given = (new.get("metadata") or {}).get("managedFields")
    if subresource == "" and given in ([], [{}]):
        return {}
    if subresource == "" and given:
        managers = read_managers(new)
        if managers:
            return managers
    return read_managers(old)


def _without_managed(obj: JsonObject) -> JsonObject:
    meta = obj.get("metadata")
    if not isinstance(meta, dict) or "managedFields" not in meta:
        return obj
    return {**obj, "metadata": {key: item for key, item in meta.items() if key != "managedFields"}}


def _record(
    managers: Managers,
    identity: Manager,
    old: JsonObject,
    new: JsonObject,
    root: Node,
    now: float,
    reset: FieldSet,
) -> None:
    """Give the writer what it changed and take it, and what is gone, from all others."""
    change = typed.compare(root, _without_managed(old), _without_managed(new))
    taken = without_below(union(change.modified, change.added), reset)
    if change.removed or taken:
        gone = union(taken, without_below(change.removed, reset))
        for manager in list(managers):
            entry = managers[manager]
            fields = difference(entry.fields, change.removed if manager == identity else gone)
            if fields:
                managers[manager] = Entry(fields, entry.api_version, entry.time)
            else:
                del managers[manager]
    taken = difference(taken, _STRIPPED)
    if taken:
        mine = managers.get(identity)
        fields = union(mine.fields, taken) if mine is not None else taken
        managers[identity] = Entry(fields, identity.api_version, now)


def _cap(managers: Managers) -> None:
    """Merge the oldest `Update` entries of a version until few enough are left."""
    updaters = [manager for manager in managers if manager.operation == "Update"]
    excess = len(updaters) - MANAGED_FIELDS_UPDATE_MANAGERS_MAX
    if excess <= 0:
        return
    updaters.sort(key=lambda one: (int(managers[one].time or 0), one.name, one.subresource))
    first: dict[str, Manager] = {}
    for manager in updaters:
        if excess <= 0:
            return
        version = managers[manager].api_version
        if version not in first:
            first[version] = manager
            continue
        bucket = Manager(ANCIENT, "Update", version, "")
        if bucket not in managers:
            managers[bucket] = managers.pop(first[version])
        if manager == bucket:
            continue
        entry = managers.pop(manager)
        fields = union(entry.fields, managers[bucket].fields)
        managers[bucket] = Entry(fields, version, entry.time)
        excess -= 1


def apply(
    live: JsonObject | None,
    config: JsonObject,
    manager: str,
    *,
    schema: Schema,
    now: float,
    force: bool = False,
    subresource: str = "",
    reset: FieldSet = _NO_RESET,
) -> JsonObject:
    """The object after a server-side apply; no argument is changed.

    The caller applies defaults and validates the result. Equal to `live` but for managed fields
    when the configuration changes nothing.

    Args:
        live: the stored object; None creates it.
        config: the applied configuration, with apiVersion, kind and metadata.name.

    Raises:
        ApiError: 400 a configuration that does not fit the schema, 409 conflicts.
    """
    config = _checked(config, manager, schema)
    root, version = schema.root, str(config["apiVersion"])
    identity = Manager(manager, "Apply", "", subresource)
    empty = {key: config[key] for key in _NOT_OWNED}
    stored = live if live is not None else empty
    managers = read_managers(stored)
    base = _without_managed(stored)
    if live is not None and not managers:
        before = Manager(BEFORE_FIRST_APPLY, "Update", version, "")
        fields = _created_fields(base, schema, {})
        managers[before] = Entry(fields, version, now)
    last = managers.get(identity)
    owned = without_below(typed.applied(root, config), reset)
    merged = typed.merge(root, base, config)
    managers[identity] = Entry(owned, version, last.time if last is not None else now)
    if last is not None:
        merged = _pruned(root, merged, managers, last.fields)
    _settle(managers, identity, typed.compare(root, base, merged), force=force, reset=reset)
    mine = managers.get(identity)
    if mine is not None:
        stripped = difference(mine.fields, _STRIPPED)
        changed = live is None or merged != base
        managers[identity] = Entry(stripped, version, now if changed else mine.time)
        if not stripped:
            del managers[identity]
    result: JsonObject = typed.detached(merged)
    write_managers(result, managers)
    return result


def _checked(config: JsonObject, manager: str, schema: Schema) -> JsonObject:
    if not manager:
        cause = Cause(
            "FieldValueRequired",
            "Required value: is required for apply patch",
            "fieldManager",
        )
        raise ApiError(
            "Invalid",
            'PatchOptions.meta.k8s.io "" is invalid: '
            "fieldManager: Required value: is required for apply patch",
            details=ErrorDetails(group="meta.k8s.io", kind="PatchOptions", causes=(cause,)),
        )
    meta = config.get("metadata")
    if isinstance(meta, dict) and meta.get("managedFields") is not None:
        raise bad_patch("metadata.managedFields must be nil")
    # A null says "not specified", as `creationTimestamp: null` in generated manifests.
    config = _without_nulls(config)
    errors = list(typed.mismatches(schema.root, config))
    if errors:
        raise untyped(config, errors)
    return config


def _without_nulls(value: Any) -> Any:
    if type(value) is dict:
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if type(value) is list:
        return [_without_nulls(item) for item in value]
    return value


def _pruned(root: Node, merged: JsonObject, managers: Managers, last: FieldSet) -> JsonObject:
    """Drop what the applier named last time and no longer names, unless somebody owns it."""
    last = typed.with_named(root, last)
    pruned = typed.removed(root, merged, last)
    everything = typed.with_named(root, typed.applied(root, merged))
    owned: FieldSet = {}
    for entry in managers.values():
        owned = union(owned, entry.fields)
    kept = union(typed.with_named(root, typed.applied(root, pruned)), typed.with_named(root, owned))
    pruned = typed.removed(root, merged, difference(everything, kept))
    left = typed.with_named(root, typed.applied(root, pruned))
    gone = intersection(difference(everything, left), last)
    result: JsonObject = typed.removed(root, merged, gone)
    return result


def _settle(
    managers: Managers,
    identity: Manager,
    change: typed.Comparison,
    *,
    force: bool,
    reset: FieldSet,
) -> None:
    """Find the conflicts of an apply, or with `force` take the fields from their managers."""
    taken = without_below(union(change.modified, change.added), reset)
    conflicts = []
    for manager, entry in managers.items():
        if manager != identity:
            common = intersection(entry.fields, taken)
            if common:
                conflicts.append((manager, entry, common))
    if conflicts and not force:
        raise _conflict(conflicts)
    for manager, entry, common in conflicts:
        managers[manager] = Entry(difference(entry.fields, common), entry.api_version, entry.time)
    for manager in list(managers):
        entry = managers[manager]
        fields = entry.fields
        if manager != identity:
            fields = difference(fields, change.removed)
        if fields:
            managers[manager] = Entry(fields, entry.api_version, entry.time)
        else:
            del managers[manager]


def _conflict(conflicts: Iterable[tuple[Manager, Entry, FieldSet]]) -> ApiError:
    found: list[tuple[str, str]] = []
    for manager, entry, fields in conflicts:
        found += [(_shown(manager, entry), path) for path in paths(fields)]
    found.sort(key=lambda pair: pair[0])
    causes = [Cause("FieldManagerConflict", f"conflict with {who}", path) for who, path in found]
    if len(found) == 1:
        who, path = found[0]
        message = f"Apply failed with 1 conflict: conflict with {who}: {path}"
    else:
        lines: list[str] = []
        for who in dict.fromkeys(who for who, _ in found):
            lines.append(f"conflicts with {who}:")
            lines += [f"- {path}" for other, path in found if other == who]
        message = f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)
    return ApiError("Conflict", message, details=ErrorDetails(causes=causes))


def _shown(manager: Manager, entry: Entry) -> str:
    shown = quote(manager.name)
    if manager.subresource:
        shown += f" with subresource {quote(manager.subresource)}"
    if manager.operation == "Update":
        shown += f" using {entry.api_version}"
    return shown
