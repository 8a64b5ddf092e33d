"""Kinds that make pods: Deployment, ReplicaSet, StatefulSet, DaemonSet, batch Job and CronJob."""

from typing import Any

from volcano.api.objects import JsonObject
from volcano.base.errors import Cause
from volcano.server.schema.causes import forbidden, invalid, not_supported, required
from volcano.server.validation.core import IMMUTABLE, validate_claim
from volcano.server.validation.metadata import dns_name, matches, validate_selector
from volcano.server.validation.pods import validate_template
from volcano.server.validation.resources import NEGATIVE
from volcano.server.validation.texts import percent

_STATEFUL_MUTABLE = (
    *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"),
    *("persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
)
_JOB_IMMUTABLE = (
    *("selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex"),
    *("managedBy", "successPolicy"),
)


def _not_negative(spec: JsonObject, names: tuple[str, ...], path: str, out: list[Cause]) -> None:
    out += [
        invalid(f"{path}.{name}", spec[name], NEGATIVE)
        for name in names
        if spec.get(name) is not None and spec[name] < 0
    ]


def _selected_template(
    spec: JsonObject, kind: str, path: str, out: list[Cause], *, empty: str = "deployment"
) -> None:
    """A selector that is there, and a template that it selects and that restarts always."""
    selector = spec.get("selector")
    template = spec.get("template") or {}
    if selector is None:
        out.append(required(f"{path}.selector"))
    else:
        validate_selector(selector, f"{path}.selector", out)
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            detail = f"empty selector is invalid for {empty}"
            out.append(invalid(f"{path}.selector", selector, detail))
        else:
            _selects(selector, template, path, out)
    validate_template(template, f"{path}.template", out)
    inner = template.get("spec") or {}
    policy = inner.get("restartPolicy", "")
    if policy != "Always":
        where = f"{path}.template.spec.restartPolicy"
        out.append(not_supported(where, policy, ("Always",)))
    if inner.get("activeDeadlineSeconds") is not None:
        where = f"{path}.template.spec.activeDeadlineSeconds"
        out.append(forbidden(where, f"activeDeadlineSeconds in {kind} is not Supported"))


def _selects(selector: JsonObject, template: JsonObject, path: str, out: list[Cause]) -> None:
    labels = (template.get("metadata") or {}).get("labels") or {}
    if not matches(selector, labels):
        detail = "`selector` does not match template `labels`"
        out.append(invalid(f"{path}.template.metadata.labels", labels, detail))


def validate_deployment(obj: JsonObject, out: list[Cause]) -> None:
    """A Deployment."""
    spec = obj.get("spec") or {}
    _not_negative(spec, ("replicas",), "spec", out)
    _selected_template(spec, "ReplicaSet", "spec", out)
    _strategy(spec.get("strategy") or {}, "spec.strategy", out)
    names = ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    _not_negative(spec, names, "spec", out)
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        detail = "must be greater than minReadySeconds"
        out.append(invalid("spec.progressDeadlineSeconds", deadline, detail))


def _strategy(strategy: JsonObject, path: str, out: list[Cause]) -> None:
    rolling = strategy.get("rollingUpdate")
    kind = strategy.get("type")
    if kind == "Recreate":
        if rolling is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            out.append(forbidden(f"{path}.rollingUpdate", detail))
    elif kind == "RollingUpdate":
        _rolling(rolling or {}, f"{path}.rollingUpdate", out)
    else:
        out.append(not_supported(path, strategy, ("Recreate", "RollingUpdate")))


def _rolling(rolling: JsonObject, path: str, out: list[Cause]) -> None:
    for name in ("maxUnavailable", "maxSurge"):
        int_or_percent(rolling.get(name, 0), f"{path}.{name}", out)
    if all(_is_zero(rolling.get(name, 0)) for name in ("maxUnavailable", "maxSurge")):
        detail = "may not be 0 when `maxSurge` is 0"
        out.append(invalid(f"{path}.maxUnavailable", rolling.get("maxUnavailable", 0), detail))
    not_over_all(rolling.get("maxUnavailable", 0), f"{path}.maxUnavailable", out)


def _is_zero(value: Any) -> bool:
    return value == 0 or (isinstance(value, str) and value.rstrip("%").strip("0") == "")


def int_or_percent(value: Any, path: str, out: list[Cause]) -> None:
    """A count or a share such as `25%`."""
    if isinstance(value, str):
        out += [invalid(path, value, problem) for problem in percent(value)]
    elif value < 0:
        out.append(invalid(path, value, NEGATIVE))


def not_over_all(value: Any, path: str, out: list[Cause]) -> None:
    """A share of at most 100 %."""
    if isinstance(value, str) and not percent(value) and int(value[:-1]) > 100:
        out.append(invalid(path, value, "must not be greater than 100%"))


def validate_replica_set(obj: JsonObject, out: list[Cause]) -> None:
    """A ReplicaSet."""
    spec = obj.get("spec") or {}
    _not_negative(spec, ("replicas", "minReadySeconds"), "spec", out)
    _selected_template(spec, "ReplicaSet", "spec", out)


def validate_replication_controller(obj: JsonObject, out: list[Cause]) -> None:
    """A ReplicationController, whose selector is a plain map."""
    spec = obj.get("spec") or {}
    _not_negative(spec, ("replicas", "minReadySeconds"), "spec", out)
    selector = spec.get("selector") or {}
    if not selector:
        out.append(required("spec.selector"))
    _selects({"matchLabels": selector}, spec.get("template") or {}, "spec", out)
    validate_template(spec.get("template") or {}, "spec.template", out)


def selector_update(new: JsonObject, old: JsonObject, out: list[Cause]) -> None:
    """Deployments, ReplicaSets and DaemonSets keep their selector."""
    selector = new["spec"].get("selector")
    if selector != old["spec"].get("selector"):
        out.append(invalid("spec.selector", selector, IMMUTABLE))


def validate_stateful_set(obj: JsonObject, out: list[Cause]) -> None:
    """A StatefulSet."""
    spec = obj.get("spec") or {}
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        detail = "must be 'OrderedReady' or 'Parallel'"
        out.append(invalid("spec.podManagementPolicy", policy, detail))
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("type") not in ("RollingUpdate", "OnDelete"):
        detail = "must be 'RollingUpdate' or 'OnDelete'"
        out.append(invalid("spec.updateStrategy", strategy, detail))
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        validate_claim(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}].spec", out)
    _not_negative(spec, ("replicas", "minReadySeconds"), "spec", out)
    if spec.get("serviceName"):
        dns_name("spec.serviceName", spec["serviceName"], out)
    _selected_template(_with_claims(spec), "StatefulSet", "spec", out, empty="statefulset")


def _with_claims(spec: JsonObject) -> JsonObject:
    """The spec with the claims of its templates as volumes: mounts may name them."""
    names = [
        (claim.get("metadata") or {}).get("name")
        for claim in spec.get("volumeClaimTemplates") or ()
    ]
    if not names:
        return spec
    template = spec.get("template") or {}
    inner = template.get("spec") or {}
    volumes = [one for one in inner.get("volumes") or () if one.get("name") not in names]
    claims = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names if name
    ]
    return {**spec, "template": {**template, "spec": {**inner, "volumes": [*claims, *volumes]}}}


def stateful_set_update(new: JsonObject, old: JsonObject, out: list[Cause]) -> None:
    """A StatefulSet keeps all but a few fields of its spec."""

    def fixed(obj: JsonObject) -> JsonObject:
        spec = obj.get("spec") or {}
        return {key: value for key, value in spec.items() if key not in _STATEFUL_MUTABLE}

    if fixed(new) != fixed(old):
        detail = (
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', "
            "'template', 'updateStrategy', 'revisionHistoryLimit', "
            "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
        )
        out.append(forbidden("spec", detail))


def validate_daemon_set(obj: JsonObject, out: list[Cause]) -> None:
    """A DaemonSet."""
    spec = obj.get("spec") or {}
    _selected_template(spec, "DaemonSet", "spec", out, empty="daemonset")
    _not_negative(spec, ("minReadySeconds", "revisionHistoryLimit"), "spec", out)


def validate_job(obj: JsonObject, out: list[Cause]) -> None:
    """A batch Job."""
    _job_spec(obj.get("spec") or {}, "spec", out)


def _job_spec(spec: JsonObject, path: str, out: list[Cause]) -> None:
    names = (
        *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"),
        *("ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"),
    )
    _not_negative(spec, names, path, out)
    mode = spec.get("completionMode", "NonIndexed")
    if mode not in ("NonIndexed", "Indexed"):
        out.append(not_supported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed")))
    if mode == "Indexed" and spec.get("completions") is None:
        out.append(required(f"{path}.completions", "when completion mode is Indexed"))
    if mode == "NonIndexed" and spec.get("backoffLimitPerIndex") is not None:
        where = f"{path}.backoffLimitPerIndex"
        detail = "requires indexed completion mode"
        out.append(invalid(where, spec["backoffLimitPerIndex"], detail))
    template = spec.get("template") or {}
    validate_template(template, f"{path}.template", out)
    policy = (template.get("spec") or {}).get("restartPolicy", "")
    where = f"{path}.template.spec.restartPolicy"
    if policy in ("Always", ""):
        out.append(required(where, 'valid values: "OnFailure", "Never"'))
    elif policy not in ("OnFailure", "Never"):
        out.append(not_supported(where, policy, ("OnFailure", "Never")))
    selector = spec.get("selector")
    if selector is not None:
        validate_selector(selector, f"{path}.selector", out)
        _selects(selector, template, path, out)


def job_update(new: JsonObject, old: JsonObject, out: list[Cause]) -> None:
    """A batch Job keeps its template, selector and mode; a suspended one may still be placed."""
    spec, before = new["spec"], old["spec"]
    out += [
        invalid(f"spec.{name}", spec.get(name), IMMUTABLE)
        for name in _JOB_IMMUTABLE
        if spec.get(name) != before.get(name)
    ]
    if spec.get("completions") != before.get("completions"):
        indexed = spec.get("completionMode") == "Indexed"
        if not (indexed and spec.get("completions") == spec.get("parallelism")):
            out.append(invalid("spec.completions", spec.get("completions"), IMMUTABLE))
    if not before.get("suspend") and spec.get("template") != before.get("template"):
        out.append(invalid("spec.template", spec.get("template"), IMMUTABLE))


def validate_cron_job(obj: JsonObject, out: list[Cause]) -> None:
    """A batch CronJob; its schedule is read by its controller."""
    spec = obj.get("spec") or {}
    if not spec.get("schedule"):
        out.append(required("spec.schedule"))
    policy = spec.get("concurrencyPolicy", "Allow")
    policies = ("Allow", "Forbid", "Replace")
    if policy not in policies:
        out.append(not_supported("spec.concurrencyPolicy", policy, policies))
    names = ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    _not_negative(spec, names, "spec", out)
    _job_spec((spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec", out)
