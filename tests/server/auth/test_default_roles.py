"""The roles of the start: what each of their holders may and may not."""

import pytest

from volcano.api import kinds
from volcano.server.auth import default_roles
from volcano.server.auth.rbac import Authorizer
from volcano.server.auth.rules import Attributes

from .objects_in_memory import Objects, binding, pod_user, to_user, user

SYSTEM = default_roles.SYSTEM_NAMESPACE
SCHEDULER = pod_user(SYSTEM, default_roles.SCHEDULER)
CONTROLLERS = pod_user(SYSTEM, default_roles.CONTROLLERS)
NODE = pod_user(SYSTEM, default_roles.NODE)
ANN, VIC, EVE, ADA = user("ann"), user("vic"), user("eve"), user("ada")
JOBS = kinds.JOB.group
SCHEDULING = kinds.QUEUE.group


@pytest.fixture(scope="module")
def authorizer() -> Authorizer:
    roles = {"vic": "view", "eve": "edit", "ada": "admin"}
    bindings = [
        binding(name, role, to_user(name), namespace="team") for name, role in roles.items()
    ]
    return Authorizer(Objects(*default_roles.objects(), *bindings))


@pytest.mark.parametrize(
    ("who", "question", "allowed"),
    [
        (ANN, "get /version", True),
        (ANN, "get /apis/batch/v1", True),
        (ANN, "get /metrics", False),
        (ANN, "create authorization.k8s.io selfsubjectaccessreviews", True),
        (ANN, "create authentication.k8s.io selfsubjectreviews", True),
        (ANN, "create authentication.k8s.io tokenreviews", False),
        (ANN, "list - pods team", False),
        (ANN, f"list {SCHEDULING} queues", True),
        (ANN, f"create {SCHEDULING} queues", False),
        (VIC, "list - pods team", True),
        (VIC, "get - pods/log team", True),
        (VIC, "get - secrets team", False),
        (VIC, "list - pods other", False),
        (VIC, f"list {JOBS} jobs team", True),
        (VIC, f"create {JOBS} jobs team", False),
        (EVE, f"create {JOBS} jobs team", True),
        (EVE, f"patch {JOBS} jobs/status team", False),
        (EVE, "create bus.volcano.sh commands team", True),
        (EVE, "get - secrets team", True),
        (EVE, "create - pods/eviction team", True),
        (EVE, "patch apps deployments/scale team", True),
        (EVE, "create - resourcequotas team", False),
        (EVE, f"create {kinds.RBAC} roles team", False),
        (ADA, f"create {kinds.RBAC} rolebindings team", True),
        (ADA, f"create {JOBS} jobs team", True),
        (ADA, "list - nodes", False),
        (SCHEDULER, "create - pods/binding team", True),
        (SCHEDULER, "watch - nodes", True),
        (SCHEDULER, f"update {SCHEDULING} podgroups/status team", True),
        (SCHEDULER, "patch - pods/status team", True),
        (SCHEDULER, "create coordination.k8s.io leases team", True),
        (SCHEDULER, "get - secrets team", False),
        (SCHEDULER, "create - pods team", False),
        (CONTROLLERS, "create - pods team", True),
        (CONTROLLERS, f"patch {JOBS} jobs/status team", True),
        (CONTROLLERS, f"create {SCHEDULING} podgroups team", True),
        (CONTROLLERS, "delete example.com widgets team", True),
        (CONTROLLERS, f"create {kinds.RBAC} clusterrolebindings", False),
        (NODE, "patch - pods/status team", True),
        (NODE, "create - nodes", True),
        (NODE, "create - serviceaccounts/token team", True),
        (NODE, "create - pods team", False),
        (NODE, f"list {JOBS} jobs team", False),
        (pod_user("team", "default"), "get - secrets team", False),
        (pod_user("team", "default"), "list - pods team", False),
    ],
    ids=lambda value: value if isinstance(value, str) else getattr(value, "name", None),
)
def test_who_may_what(authorizer: Authorizer, who, question: str, allowed: bool) -> None:
    assert authorizer.authorize(who, attributes(question)).allowed is allowed


def attributes(question: str) -> Attributes:
    """`verb /path` or `verb group resource[/sub] [namespace]`, `-` for the core group."""
    verb, group, *rest = question.split()
    if group.startswith("/"):
        return Attributes(verb, path=group)
    plural, _, subresource = rest[0].partition("/")
    namespace = rest[1] if len(rest) > 1 else ""
    return Attributes(verb, "" if group == "-" else group, plural, subresource, namespace)


def test_objects_are_whole_and_fresh() -> None:
    first = default_roles.objects()
    first[0][1]["metadata"]["name"] = "changed"
    again = default_roles.objects()
    assert again[0][1]["metadata"]["name"] == "default"
    names = [(kind, obj["metadata"]["name"]) for kind, obj in again]
    assert len(names) == len(set(names))
    for kind, obj in again:
        assert (obj["apiVersion"], obj["kind"]) == (kind.api_version, kind.kind)
