"""Nothing is created in a namespace that is not there or going; three namespaces never go."""

from volcano.api import kinds
from volcano.api.admission import Lookup
from volcano.api.kinds import Kind
from volcano.base.errors import ApiError, Cause, ErrorDetails
from volcano.server.refusals import forbidden, not_found

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
SYSTEM_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


def check_create(kind: Kind, namespace: str, name: str, lookup: Lookup) -> None:
    """Refuse a create in a namespace that cannot take it.

    Raises:
        ApiError: NotFound for a missing namespace, Forbidden for one that is terminating.
    """
    found = lookup.get(kinds.NAMESPACE, "", namespace)
    if found is None:
        raise not_found(kinds.NAMESPACE, namespace)
    if "deletionTimestamp" in found["metadata"]:
        why = (
            f"unable to create new content in namespace {namespace} because it is being terminated"
        )
        raise ApiError(
            "Forbidden",
            f'{kind.resource} "{name}" is forbidden: {why}',
            details=ErrorDetails(
                name=name,
                group=kind.group,
                kind=kind.plural,
                causes=(
                    Cause(
                        "NamespaceTerminating",
                        f"namespace {namespace} is being terminated",
                        "metadata.namespace",
                    ),
                ),
            ),
        )


def check_delete(kind: Kind, name: str) -> None:
    """Refuse to delete a namespace that the system needs.

    Raises:
        ApiError: Forbidden.
    """
    if kind == kinds.NAMESPACE and name in IMMORTAL:
        raise forbidden(kind, name, "this namespace may not be deleted")
