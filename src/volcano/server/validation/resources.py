"""Resource names and amounts: containers' requests and limits, quotas, limit ranges, claims."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from volcano.api.objects import JsonObject
from volcano.base.errors import Cause
from volcano.resources.quantity import Quantity, parse_quantity
from volcano.server.schema.causes import forbidden, invalid, required
from volcano.server.validation.texts import Problems, qualified_name

NEGATIVE = "must be greater than or equal to 0"

_CONTAINER = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_QUOTA = (
    _CONTAINER
    | _COUNTED
    | {f"{side}.{name}" for side in ("requests", "limits") for name in _CONTAINER}
    | {"requests.storage"}
)
_HUGEPAGES = "hugepages-"
_NATIVE = "kubernetes.io/"


def is_native(name: str) -> bool:
    """Whether a resource is Kubernetes' own: no prefix, or one in `kubernetes.io`."""
    return "/" not in name or _NATIVE in name


def may_overcommit(name: str) -> bool:
    """Whether requests may be below limits."""
    return is_native(name) and not name.startswith(_HUGEPAGES)


@lru_cache(4096)
def is_whole(name: str) -> bool:
    """Whether a resource is counted in whole units."""
    if name in _COUNTED:
        return True
    extended = not is_native(name) and not name.startswith("requests.")
    return extended and not qualified_name(f"requests.{name}")


@lru_cache(4096)
def container_resource(name: str) -> Problems:
    """What is wrong with the name of a resource that a container asks for."""
    problems = qualified_name(name)
    if problems:
        return problems
    if "/" not in name:
        if name in _CONTAINER or name.startswith(_HUGEPAGES):
            return ()
        if name in _QUOTA or name == "storage" or name.startswith("requests.hugepages-"):
            return ("must be a standard resource for containers",)
        return (
            "must be a standard resource type or fully qualified",
            "must be a standard resource for containers",
        )
    if is_native(name) or is_whole(name):
        return ()
    return ("doesn't follow extended resource name standard",)


@lru_cache(4096)
def quota_resource(name: str) -> Problems:
    """What is wrong with the name of a resource in a quota."""
    problems = qualified_name(name)
    if problems or "/" in name or name in _QUOTA or name.startswith("requests.hugepages-"):
        return problems
    standard = name == "storage" or name.startswith(_HUGEPAGES)
    unknown = () if standard else ("must be a standard resource type or fully qualified",)
    return (*unknown, "must be a standard resource for quota")


@lru_cache(16_384)
def _amount(name: str, text: str | float) -> tuple[Quantity, Problems]:
    quantity = parse_quantity(text)
    found: Problems = ()
    if quantity.nano < 0:
        found = (NEGATIVE,)
    if is_whole(name) and quantity.nano % 10**9:
        found = (*found, "must be an integer")
    return quantity, found


def amount(name: str, value: str | float, path: str, out: list[Cause]) -> Quantity:
    """The amount of a resource; what is wrong with it is added."""
    quantity, problems = _amount(name, value)
    if problems:
        out += [invalid(path, str(quantity), problem) for problem in problems]
    return quantity


def validate_requirements(resources: JsonObject, path: str, out: list[Cause]) -> None:
    """A container's `resources`: known names, sane amounts, requests within limits."""
    limits: Mapping[str, Any] = resources.get("limits") or {}
    requests: Mapping[str, Any] = resources.get("requests") or {}
    amounts = {name: _checked(name, limits, f"{path}.limits", out) for name in limits}
    for name in requests:
        wanted = _checked(name, requests, f"{path}.requests", out)
        limit = amounts.get(name)
        if limit is not None:
            _within(name, wanted, limit, path, out)
        elif not may_overcommit(name):
            detail = "Limit must be set for non overcommitable resources"
            out.append(required(f"{path}.limits", detail))
    names = {*limits, *requests}
    if any(name.startswith(_HUGEPAGES) for name in names) and not names & {"cpu", "memory"}:
        out.append(forbidden(path, "HugePages require cpu or memory"))


def _checked(name: str, amounts: Mapping[str, Any], path: str, out: list[Cause]) -> Quantity:
    problems = container_resource(name)
    if problems:
        out += [invalid(f"{path}[{name}]", name, problem) for problem in problems]
    quantity, wrong = _amount(name, amounts[name])
    if wrong:
        out += [invalid(f"{path}[{name}]", str(quantity), problem) for problem in wrong]
    return quantity


def _within(name: str, wanted: Quantity, limit: Quantity, path: str, out: list[Cause]) -> None:
    if wanted.nano == limit.nano:
        return
    if not may_overcommit(name):
        detail = f"must be equal to {name} limit of {limit}"
    elif wanted.nano > limit.nano:
        detail = f"must be less than or equal to {name} limit of {limit}"
    else:
        return
    out.append(invalid(f"{path}.requests", str(wanted), detail))
