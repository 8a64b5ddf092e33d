"""Pods run as a ServiceAccount, the default one if none is named, its token projected into them."""

from operator import is_not

from volcano.api import kinds
from volcano.api.admission import ALLOWED, Admission, Lookup, Operation, Review
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.server.admission.chain import refused
from volcano.server.lifecycle import random_suffix

MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
ROOT_CA_CONFIG_MAP = "kube-root-ca.crt"
TOKEN_SECONDS = 3607
VOLUME_PREFIX = "kube-api-access-"
_MODE = 0o644


class ServiceAccountAdmission:
    """Fills in account, pull secrets and the token volume; refuses unknown accounts."""

    name = "ServiceAccount"
    kinds: frozenset[Kind] = frozenset({kinds.POD})
    operations: frozenset[Operation] = frozenset({"CREATE"})

    def admit(self, review: Review, lookup: Lookup) -> Admission:
        """The pod with its account, or a refusal."""
        pod = review.obj
        if pod is None or review.subresource:
            return ALLOWED
        spec: JsonObject = dict(pod.get("spec") or {})
        name = spec.get("serviceAccountName") or "default"
        account = lookup.get(kinds.SERVICE_ACCOUNT, review.namespace, name)
        if account is None:
            return refused(
                review,
                f"error looking up service account {review.namespace}/{name}:"
                f' serviceaccount "{name}" not found',
            )
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = account["imagePullSecrets"]
        if _mounts_token(spec, account):
            _mount_token(spec)
        return Admission(patched={**pod, "spec": spec})


def _mounts_token(spec: JsonObject, account: JsonObject) -> bool:
    own = spec.get("automountServiceAccountToken")
    if own is not None:
        return bool(own)
    return bool(account.get("automountServiceAccountToken", True))


def _mount_token(spec: JsonObject) -> None:
    volumes = spec.get("volumes") or []
    for one in volumes:
        if "projected" in one and one.get("name", "").startswith(VOLUME_PREFIX):
            volume, present = one["name"], True
            break
    else:
        volume, present = VOLUME_PREFIX + random_suffix(), False
    needed = False
    for field in ("initContainers", "containers"):
        containers = spec.get(field)
        if containers:
            changed = [_with_mount(container, volume) for container in containers]
            needed = needed or any(map(is_not, changed, containers))
            spec[field] = changed
    if needed and not present:
        spec["volumes"] = [*volumes, _token_volume(volume)]


def _with_mount(container: JsonObject, volume: str) -> JsonObject:
    mounts = container.get("volumeMounts") or []
    for one in mounts:
        if one.get("mountPath") == MOUNT_PATH:
            return container
    mount = {"name": volume, "readOnly": True, "mountPath": MOUNT_PATH}
    return {**container, "volumeMounts": [*mounts, mount]}


def _token_volume(name: str) -> JsonObject:
    return {
        "name": name,
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
                {
                    "configMap": {
                        "name": ROOT_CA_CONFIG_MAP,
                        "items": [{"key": "ca.crt", "path": "ca.crt"}],
                    }
                },
                {
                    "downwardAPI": {
                        "items": [
                            {
                                "path": "namespace",
                                "fieldRef": {
                                    "apiVersion": "v1",
                                    "fieldPath": "metadata.namespace",
                                },
                            }
                        ]
                    }
                },
            ],
            "defaultMode": _MODE,
        },
    }
