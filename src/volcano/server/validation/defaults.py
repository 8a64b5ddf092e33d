"""Defaults of pods and pod templates, as kube-apiserver stores them."""

from functools import lru_cache
from typing import Any

from volcano.api.objects import JsonObject
from volcano.api.wellknown import KUBE_SCHEDULER
from volcano.resources.quantity import Quantity, parse_quantity
from volcano.server.schema.defaults import copy_json

_FILE_MODE = 0o644
_MILLI = 10**6
_TOKEN_SECONDS = 3600
_PROBE = (
    ("timeoutSeconds", 1),
    ("periodSeconds", 10),
    ("successThreshold", 1),
    ("failureThreshold", 3),
)


@lru_cache(16_384)
def _canonical(value: str | float) -> str:
    quantity = parse_quantity(value)
    # Amounts of resources are kept in thousandths at the finest.
    return str(Quantity(-(-quantity.nano // _MILLI) * _MILLI, quantity.family))


def canonical_amounts(amounts: JsonObject | None) -> None:
    """Write each amount of a resource list in its canonical form, in place."""
    if amounts:
        for name, value in amounts.items():
            amounts[name] = _canonical(value)


def default_pod(pod: JsonObject) -> None:
    """A pod's defaults, in place."""
    spec = pod.setdefault("spec", {})
    default_pod_spec(spec)
    for key in ("containers", "initContainers"):
        for container in spec.get(key) or ():
            _requests_from_limits(container["resources"])
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for key in ("containers", "initContainers"):
            for container in spec.get(key) or ():
                for port in container.get("ports") or ():
                    if not port.get("hostPort"):
                        port["hostPort"] = port.get("containerPort", 0)
    status = pod.setdefault("status", {})
    if "phase" in status and "qosClass" not in status:
        status["qosClass"] = qos_class(spec)


def default_pod_template(template: JsonObject) -> JsonObject:
    """A copy of a pod template with its defaults."""
    copied: JsonObject = copy_json(template)
    default_pod_spec(copied.setdefault("spec", {}))
    return copied


def _requests_from_limits(resources: JsonObject) -> None:
    limits = resources.get("limits")
    if limits:
        requests = resources.setdefault("requests", {})
        for name, value in limits.items():
            requests.setdefault(name, value)


def default_pod_spec(spec: JsonObject) -> None:
    """The defaults that pods and templates share, in place."""
    put = spec.setdefault
    if not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirst"
    if not spec.get("restartPolicy"):
        spec["restartPolicy"] = "Always"
    put("securityContext", {})
    put("terminationGracePeriodSeconds", 30)
    if not spec.get("schedulerName"):
        spec["schedulerName"] = KUBE_SCHEDULER
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for key in ("containers", "initContainers", "ephemeralContainers"):
        for container in spec.get(key) or ():
            _container(container)
    for volume in spec.get("volumes") or ():
        _volume(volume)
    if spec.get("overhead"):
        canonical_amounts(spec["overhead"])


def _container(container: JsonObject) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = _pull_policy(container.get("image") or "")
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    resources = container.setdefault("resources", {})
    if resources:
        canonical_amounts(resources.get("limits"))
        canonical_amounts(resources.get("requests"))
    for port in container.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in container.get("env") or ():
        source = variable.get("valueFrom")
        if source:
            _references(source)
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        if key in container:
            _probe(container[key])
    hooks = container.get("lifecycle") or {}
    for key in ("postStart", "preStop"):
        _http_get(hooks.get(key) or {})


@lru_cache(4096)
def _pull_policy(image: str) -> str:
    """`Always` for an image without tag and digest, or with the tag `latest`."""
    name, at, _ = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    return "Always" if tag == "latest" or (not tag and not at) else "IfNotPresent"


def _references(source: JsonObject) -> None:
    """References of the downward API, in an environment variable or a volume's file."""
    reference = source.get("fieldRef")
    if reference is not None and not reference.get("apiVersion"):
        reference["apiVersion"] = "v1"
    reference = source.get("resourceFieldRef")
    if reference is not None:
        reference["divisor"] = _canonical(reference.get("divisor") or "0")


def _probe(probe: JsonObject) -> None:
    for key, value in _PROBE:
        if not probe.get(key):
            probe[key] = value
    _http_get(probe)
    if "grpc" in probe:
        probe["grpc"].setdefault("service", "")


def _http_get(handler: JsonObject) -> None:
    get = handler.get("httpGet")
    if get is not None:
        if not get.get("path"):
            get["path"] = "/"
        if not get.get("scheme"):
            get["scheme"] = "HTTP"


def _volume(volume: JsonObject) -> None:
    if len(volume) == 1 and "name" in volume:
        volume["emptyDir"] = {}
    for key in ("configMap", "secret", "projected", "downwardAPI"):
        source = volume.get(key)
        if source is not None:
            source.setdefault("defaultMode", _FILE_MODE)
    if "hostPath" in volume:
        volume["hostPath"].setdefault("type", "")
    limit = (volume.get("emptyDir") or {}).get("sizeLimit")
    if limit is not None:
        volume["emptyDir"]["sizeLimit"] = str(parse_quantity(limit))
    for item in (volume.get("downwardAPI") or {}).get("items") or ():
        _references(item)
    for source in (volume.get("projected") or {}).get("sources") or ():
        for item in (source.get("downwardAPI") or {}).get("items") or ():
            _references(item)
        if "serviceAccountToken" in source:
            source["serviceAccountToken"].setdefault("expirationSeconds", _TOKEN_SECONDS)
    claim = ((volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}).get("spec")
    if claim is not None:
        default_claim_spec(claim)


def default_claim_spec(spec: JsonObject) -> None:
    """The defaults of a volume claim's spec, in place."""
    spec.setdefault("volumeMode", "Filesystem")
    resources = spec.setdefault("resources", {})
    canonical_amounts(resources.get("requests"))
    canonical_amounts(resources.get("limits"))


def qos_class(spec: JsonObject) -> str:
    """A pod's quality of service: `Guaranteed`, `Burstable` or `BestEffort`."""
    asked, guaranteed = False, True
    for key in ("containers", "initContainers"):
        for container in spec.get(key) or ():
            resources = container.get("resources") or {}
            limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
            for name in ("cpu", "memory"):
                limit, request = _positive(limits.get(name)), _positive(requests.get(name))
                asked = asked or limit is not None or request is not None
                if limit is None or (request is not None and request != limit):
                    guaranteed = False
    if not asked:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _positive(value: Any) -> int | None:
    nano = parse_quantity(value).nano if value is not None else 0
    return nano if nano > 0 else None
