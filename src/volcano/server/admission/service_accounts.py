"""Pods run as a ServiceAccount, the default one if none is named, its token projected into them."""

from typing import Any

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
    names = [
        volume["name"]
        for volume in spec.get("volumes") or ()
        if str(volume.get("name", "")).startswith(VOLUME_PREFIX) and "projected" in volume
    ]
    volume = names[0] if names else VOLUME_PREFIX + random_suffix()
    mount = {"name": volume, "readOnly": True, "mountPath": MOUNT_PATH}
    needed = False
    for field in ("initContainers", "containers"):
        containers = spec.get(field)
        if not containers:
            continue
        changed = [_with_mount(container, mount) for container in containers]
        needed = needed or any(new is not old for new, old in zip(changed, containers, strict=True))
        spec[field] = changed
    if needed and not names:
        spec["volumes"] = [*(spec.get("volumes") or ()), _token_volume(volume)]


def _with_mount(container: JsonObject, mount: dict[str, Any]) -> JsonObject:
    mounts = container.get("volumeMounts") or []
    if any(one.get("mountPath") == MOUNT_PATH for one in mounts):
        return container
    return {**container, "volumeMounts": [*mounts, dict(mount)]}


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
