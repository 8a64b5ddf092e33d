"""Who is asking: the authenticated user as Kubernetes knows it (authentication.k8s.io UserInfo)."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
ANONYMOUS = "system:anonymous"


@dataclass(frozen=True, slots=True)
class UserInfo:
    """Name, uid, groups and extra of a caller."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def service_account(namespace: str, name: str, uid: str = "") -> UserInfo:
    """The user of a ServiceAccount, in the groups that Kubernetes puts it in."""
    return UserInfo(
        name=f"system:serviceaccount:{namespace}:{name}",
        uid=uid,
        groups=(
            "system:serviceaccounts",
            f"system:serviceaccounts:{namespace}",
            AUTHENTICATED,
        ),
    )
