"""The two forms of a check, and the options they are made with.

A mutating check plans JSON patch operations; a validating one says what is wrong. Both are
`volcano.api.admission.Admitter`s for the server that runs them in process; a webhook server over
HTTPS would send the same operations and texts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from volcano.api.admission import ALLOWED, Admission, Lookup, Operation, Refusal, Review
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.webhooks.resource_groups import ResourceGroup

PatchOperation = dict[str, Any]
PodValidator = Callable[[JsonObject], Sequence[str]]
"""What is wrong with the pod template of a task, each fault with its path from `template` on, such
as `template.spec.containers[0].image: Required value`."""

ALL_PATHS = frozenset(
    {
        "/jobs/mutate",
        "/jobs/validate",
        "/cronjobs/validate",
        "/pods/mutate",
        "/pods/validate",
        "/podgroups/mutate",
        "/podgroups/validate",
        "/queues/mutate",
        "/queues/validate",
        "/jobflows/validate",
        "/hypernodes/validate",
    }
)
"""Every check, by the path it has as a webhook."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the checks can be told; defaults are those of the original's webhook manager.

    Attributes:
        enabled: paths of the checks to use.
        scheduler_names: schedulers whose pods are checked; the first is the default of Jobs.
        pod_validator: core validation of the pod templates of Jobs; None leaves it to the pods.
        resource_groups: defaults for pods by namespace or annotation.
        queue_admission_gate: whether pods may ask for the queue-allocation scheduling gate.
        check_allocated_pods: refuse to delete a queue that has allocated pods.
        queue_depth_max: longest chain of queues below `root`.
        protect_root_queue: the resources of the root queue cannot be changed.
    """

    enabled: frozenset[str] = ALL_PATHS
    scheduler_names: Sequence[str] = ("volcano",)
    pod_validator: PodValidator | None = None
    resource_groups: Sequence[ResourceGroup] = ()
    queue_admission_gate: bool = False
    check_allocated_pods: bool = False
    queue_depth_max: int = 5
    protect_root_queue: bool = True


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a validating check found: the text of the refusal (empty: allowed), and warnings."""

    message: str = ""
    warnings: Sequence[str] = field(default=())


@dataclass(frozen=True)
class MutatingCheck:
    """Fills in defaults of one kind, usually on creation; see `volcano.api.admission.Admitter`."""

    path: str
    name: str
    kinds: frozenset[Kind]
    plan: Callable[[Review, Lookup], Sequence[PatchOperation]]
    operations: frozenset[Operation] = frozenset({"CREATE"})

    def admit(self, review: Review, lookup: Lookup) -> Admission:
        """The object with its defaults, if any were missing."""
        if review.operation not in self.operations:
            return denied(self.name, wrong_operation(review.operation, self.operations))
        if review.obj is None or review.subresource:
            return ALLOWED
        operations = self.plan(review, lookup)
        if not operations:
            return ALLOWED
        return Admission(patched=apply_operations(review.obj, operations))


@dataclass(frozen=True)
class ValidatingCheck:
    """Refuses objects of one kind that make no sense; see `volcano.api.admission.Admitter`."""

    path: str
    name: str
    kinds: frozenset[Kind]
    operations: frozenset[Operation]
    decide: Callable[[Review, Lookup], Verdict]

    def admit(self, review: Review, lookup: Lookup) -> Admission:
        """Allowed, perhaps with warnings, or refused with all that is wrong."""
        if review.operation not in self.operations:
            return denied(self.name, wrong_operation(review.operation, self.operations))
        if review.subresource:
            return ALLOWED
        try:
            verdict = self.decide(review, lookup)
        except msgspec.ValidationError as error:
            return denied(self.name, f"cannot read the {review.kind.kind}: {error}")
        if verdict.message:
            return denied(self.name, verdict.message)
        return Admission(warnings=verdict.warnings) if verdict.warnings else ALLOWED


def denied(name: str, message: str) -> Admission:
    """A refusal as kube-apiserver words that of a webhook: code 400, no reason."""
    text = f'admission webhook "{name}" denied the request: {message.strip()}'
    return Admission(refusal=Refusal(text, code=400, reason=""))


def wrong_operation(operation: str, allowed: frozenset[Operation]) -> str:
    """The text for an operation that a check is not for."""
    names = [f"`{name}`" for name in ("CREATE", "UPDATE", "DELETE") if name in allowed]
    expected = ", ".join(names[:-1]) + (" or " if len(names) > 1 else "") + names[-1]
    return f"invalid operation `{operation}`, expect operation to be {expected}"


def add(path: str, value: object) -> PatchOperation:
    """A JSON patch operation that sets a member or, with `/-`, appends to a list."""
    return {"op": "add", "path": path, "value": value}


def replace(path: str, value: object) -> PatchOperation:
    """A JSON patch operation that changes a member."""
    return {"op": "replace", "path": path, "value": value}


def apply_operations(obj: JsonObject, operations: Sequence[PatchOperation]) -> JsonObject:
    """A copy of an object with `add` and `replace` operations of ours applied; shares the rest."""
    result = dict(obj)
    for operation in operations:
        *parents, last = [
            step.replace("~1", "/").replace("~0", "~") for step in operation["path"][1:].split("/")
        ]
        holder: Any = result
        for step in parents:
            # Copied on the way down, so that the object under review stays as it is.
            copied = holder[step].copy()
            holder[step] = copied
            holder = copied
        if last == "-":
            holder.append(operation["value"])
        else:
            holder[last] = operation["value"]
    return result


def annotations_of(obj: Mapping[str, Any]) -> Mapping[str, str]:
    """The annotations of an object; empty if there are none or they are malformed."""
    meta = obj.get("metadata")
    found = meta.get("annotations") if isinstance(meta, dict) else None
    return found if isinstance(found, dict) else {}


def spec_of(obj: Mapping[str, Any] | None) -> JsonObject | None:
    """The `spec` of an object, or None if it is absent or no object."""
    spec = obj.get("spec") if obj is not None else None
    return spec if isinstance(spec, dict) else None


def without_nulls(value: Any) -> Any:
    """A copy without null members: Go clients send null for absent lists, maps and times."""
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [without_nulls(one) for one in value]
    return value
