"""One request on its way through the pipeline, and the options that writes and deletes take."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from volcano.api.objects import JsonObject
from volcano.base.http import Request
from volcano.base.identity import UserInfo
from volcano.server.patch import manager_name
from volcano.server.refusals import bad_request, invalid_options
from volcano.server.resources import Resource
from volcano.server.routes import Route, is_true
from volcano.server.schema import causes

FIELD_MANAGER_MAX = 128
_VALIDATIONS = ("Ignore", "Warn", "Strict")
_POLICIES = ("Foreground", "Background", "Orphan")
_DRY_RUN_ALL = "All"


@dataclass(slots=True)
class Call:
    """A routed request of a known user to a known resource.

    Attributes:
        warnings: texts for the answer's `Warning` headers.
        problems: unknown and duplicate fields found in the body.
        applied: managed fields were settled by server-side apply.
    """

    request: Request
    route: Route
    resource: Resource
    user: UserInfo
    warnings: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    applied: bool = False


class WriteOptions(NamedTuple):
    """Query parameters of create, update and patch.

    Attributes:
        manager: the field manager; from the user agent when not given.
        manager_given: whether the request named it.
    """

    dry_run: bool
    validation: str
    manager: str
    manager_given: bool
    force: bool


def write_options(call: Call) -> WriteOptions:
    """Read the options of a write.

    Raises:
        ApiError: Invalid, for values that do not exist.
    """
    query = call.request.query
    manager = query.get("fieldManager", "")
    validation = query.get("fieldValidation", "") or "Warn"
    dry_run = query.get("dryRun", "")
    wrong = []
    if dry_run not in ("", _DRY_RUN_ALL):
        wrong.append(causes.not_supported("dryRun", [dry_run], (_DRY_RUN_ALL,)))
    if validation not in _VALIDATIONS:
        wrong.append(causes.not_supported("fieldValidation", validation, _VALIDATIONS))
    if len(manager) > FIELD_MANAGER_MAX:
        wrong.append(causes.too_long("fieldManager", FIELD_MANAGER_MAX))
    elif not manager.isprintable():
        wrong.append(
            causes.invalid("fieldManager", manager, "should only contain printable characters")
        )
    if wrong:
        verb = {"create": "CreateOptions", "update": "UpdateOptions"}.get(call.route.verb)
        raise invalid_options(verb or "PatchOptions", wrong)
    return WriteOptions(
        dry_run=bool(dry_run),
        validation=validation,
        manager=manager_name(manager, call.request.headers.get("user-agent", "")),
        manager_given=bool(manager),
        force=is_true(query.get("force")),
    )


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """`meta/v1 DeleteOptions`, from the body and the query."""

    grace_seconds: int | None = None
    uid: str = ""
    resource_version: str = ""
    policy: str = ""
    dry_run: bool = False


def delete_options(request: Request) -> DeleteOptions:
    """Read the options of a delete from its body and query.

    Raises:
        ApiError: BadRequest or Invalid.
    """
    return read_delete_options(_body(request.body) if request.body else {}, request.query)


def read_delete_options(body: JsonObject, query: Mapping[str, str]) -> DeleteOptions:
    """Read `meta/v1 DeleteOptions`; the body goes before the query.

    Raises:
        ApiError: BadRequest or Invalid.
    """
    conditions = body.get("preconditions") or {}
    policy = body.get("propagationPolicy") or query.get("propagationPolicy", "")
    orphan = body.get("orphanDependents")
    if orphan is None and "orphanDependents" in query:
        orphan = is_true(query["orphanDependents"])
    dry_run = body.get("dryRun") or ([query["dryRun"]] if query.get("dryRun") else [])
    wrong = []
    if orphan is not None and policy:
        wrong.append(
            causes.invalid(
                "propagationPolicy",
                policy,
                "orphanDependents and deletionPropagation cannot be both set",
            )
        )
    if policy and policy not in _POLICIES:
        wrong.append(causes.not_supported("propagationPolicy", policy, (*_POLICIES, "nil")))
    if any(value != _DRY_RUN_ALL for value in dry_run):
        wrong.append(causes.not_supported("dryRun", list(dry_run), (_DRY_RUN_ALL,)))
    if wrong:
        raise invalid_options("DeleteOptions", wrong)
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    return DeleteOptions(
        grace_seconds=_grace(body, query),
        uid=str(conditions.get("uid") or ""),
        resource_version=str(conditions.get("resourceVersion") or ""),
        policy=policy,
        dry_run=bool(dry_run),
    )


def _body(content: bytes) -> JsonObject:
    try:
        body = msgspec.json.decode(content)
    except msgspec.DecodeError as error:
        raise bad_request(f"the delete options in the body are no JSON: {error}") from error
    if not isinstance(body, dict):
        raise bad_request("the delete options in the body are no object")
    return body


def _grace(body: JsonObject, query: Mapping[str, str]) -> int | None:
    value = body.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    if value is None or value == "":
        return None
    try:
        seconds = int(value)
    except (TypeError, ValueError):
        raise bad_request(f"gracePeriodSeconds: {value!r} is no whole number") from None
    return seconds if seconds >= 0 else 1
