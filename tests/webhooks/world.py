"""Small worlds for admission tests: stored objects, and one operation reviewed against them."""

from collections.abc import Iterable
from typing import Any

from volcano.api import kinds
from volcano.api.admission import Admission, Review
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject, name_of, namespace_of
from volcano.base.identity import UserInfo
from volcano.webhooks.check import MutatingCheck, PatchOperation, ValidatingCheck

USER = UserInfo(name="tester")


class Stored:
    """A `Lookup` over given objects."""

    def __init__(self, *objects: tuple[Kind, JsonObject]) -> None:
        self._objects = objects

    def get(self, kind: Kind, namespace: str, name: str) -> JsonObject | None:
        for each, obj in self._objects:
            if (each, namespace_of(obj), name_of(obj)) == (kind, namespace, name):
                return obj
        return None

    def list(self, kind: Kind, namespace: str = "") -> Iterable[JsonObject]:
        return [
            obj
            for each, obj in self._objects
            if each == kind and namespace in ("", namespace_of(obj))
        ]


def queue(
    name: str,
    parent: str = "",
    *,
    state: str = "Open",
    pods: str | None = None,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> tuple[Kind, JsonObject]:
    obj: JsonObject = {"metadata": {"name": name}, "spec": spec}
    if annotations is not None:
        obj["metadata"]["annotations"] = annotations
    if parent:
        obj["spec"]["parent"] = parent
    if state:
        obj["status"] = {"state": state}
    if pods is not None:
        obj.setdefault("status", {})["allocated"] = {"pods": pods}
    return kinds.QUEUE, obj


def namespace(name: str, **annotations: str) -> tuple[Kind, JsonObject]:
    return kinds.NAMESPACE, {"metadata": {"name": name, "annotations": annotations}}


def create(kind: Kind, obj: JsonObject) -> Review:
    return Review("CREATE", kind, namespace_of(obj), name_of(obj), obj, None, USER)


def update(kind: Kind, old: JsonObject, new: JsonObject) -> Review:
    return Review("UPDATE", kind, namespace_of(new), name_of(new), new, old, USER)


def delete(kind: Kind, name: str) -> Review:
    return Review("DELETE", kind, "", name, None, None, USER)


def message(admission: Admission) -> str:
    """The text of a refusal without the part that names the webhook; empty if allowed."""
    if admission.refusal is None:
        return ""
    assert admission.refusal.code == 400
    head, found, text = admission.refusal.message.partition(" denied the request: ")
    assert head.startswith('admission webhook "')
    assert found
    return text


def verdict(check: ValidatingCheck, review: Review, *stored: tuple[Kind, JsonObject]) -> str:
    return message(check.admit(review, Stored(*stored)))


def operations(
    check: MutatingCheck, review: Review, *stored: tuple[Kind, JsonObject]
) -> list[PatchOperation]:
    return list(check.plan(review, Stored(*stored)))
