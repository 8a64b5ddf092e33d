"""Signatures; the body follows."""

from dataclasses import dataclass

from volcano.api.admission import Lookup
from volcano.api.kinds import Kind
from volcano.base.errors import ApiError
from volcano.base.identity import UserInfo


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is asked for. `path` is set for non-resource requests only, then `resource` is empty."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether it is allowed, and why."""

    allowed: bool
    reason: str = ""


class Authorizer:
    """RBAC over the stored roles and bindings."""

    def __init__(self, lookup: Lookup) -> None: ...

    def changed(self, kind: Kind, key: str) -> None:
        """Hear of a change (`objects.key_of`) of any kind; cheap when it is no RBAC kind."""
        raise NotImplementedError

    def authorize(self, user: UserInfo, attributes: Attributes) -> Decision:
        """Decide."""
        raise NotImplementedError


def forbidden(user: UserInfo, attributes: Attributes, decision: Decision) -> ApiError:
    """The refusal, worded as Kubernetes words it."""
    raise NotImplementedError
