"""Nobody gives away rights that they do not hold: the check on writes of roles and bindings.

An admission check like any other. As in Kubernetes, the verb `escalate` on a role, or `bind` on
the role a binding refers to, lifts it.
"""

import json
from collections.abc import Iterable

from volcano.api import kinds
from volcano.api.admission import ALLOWED, Admission, Lookup, Operation, Refusal, Review
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base.identity import MASTERS, UserInfo
from volcano.server.auth.rbac import RBAC_KINDS, Authorizer
from volcano.server.auth.rules import Attributes, Rule, compact, uncovered

ROLE_RESOURCES = {"Role": "roles", "ClusterRole": "clusterroles"}


class RbacEscalation:
    """Refuses roles and bindings that hold more than their writer does."""

    name = "RbacEscalation"
    kinds: frozenset[Kind] = RBAC_KINDS
    operations: frozenset[Operation] = frozenset({"CREATE", "UPDATE"})

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def admit(self, review: Review, lookup: Lookup) -> Admission:  # noqa: ARG002 - the authorizer has the roles at hand already
        """Allow, or refuse with the list of rights that are missing."""
        user, obj, old = review.user, review.obj or {}, review.old or {}
        if MASTERS in user.groups:
            return ALLOWED
        if review.kind in (kinds.ROLE, kinds.CLUSTER_ROLE):
            return self._admit_role(review, user, obj, old)
        if old.get("roleRef") == obj.get("roleRef") and old.get("subjects") == obj.get("subjects"):
            return ALLOWED
        return self._admit_binding(review, user, obj)

    def _admit_role(
        self, review: Review, user: UserInfo, obj: JsonObject, old: JsonObject
    ) -> Admission:
        parts = ("rules", "aggregationRule")
        if old and all(old.get(part) == obj.get(part) for part in parts):
            return ALLOWED
        escalate = Attributes(
            "escalate", kinds.RBAC, review.kind.plural, "", review.namespace, review.name
        )
        if self._authorizer.authorize(user, escalate).allowed:
            return ALLOWED
        rules = [Rule.from_json(rule) for rule in obj.get("rules") or ()]
        if obj.get("aggregationRule") and old.get("aggregationRule") != obj["aggregationRule"]:
            # What it will hold is not known now, so only who holds everything may write it.
            everything = [Rule(("*",), ("*",), ("*",)), Rule(("*",), paths=("*",))]
            if uncovered(self._authorizer.rules_of(user, ""), everything):
                return _refused(
                    review, "must have cluster-admin privileges to use the aggregationRule"
                )
        return self._compare(review, user, rules)

    def _admit_binding(self, review: Review, user: UserInfo, obj: JsonObject) -> Admission:
        reference = obj.get("roleRef") or {}
        kind, name = str(reference.get("kind", "")), str(reference.get("name", ""))
        resource = ROLE_RESOURCES.get(kind)
        if resource is None:
            return ALLOWED  # validation refuses the object
        bind = Attributes("bind", kinds.RBAC, resource, "", review.namespace, name)
        if self._authorizer.authorize(user, bind).allowed:
            return ALLOWED
        rules = self._authorizer.role_rules(kind, name, review.namespace)
        if rules is None:
            return Admission(
                Refusal(f'{resource}.{kinds.RBAC} "{name}" not found', 404, "NotFound")
            )
        return self._compare(review, user, rules)

    def _compare(self, review: Review, user: UserInfo, rules: Iterable[Rule]) -> Admission:
        missing = uncovered(self._authorizer.rules_of(user, review.namespace), rules)
        if not missing:
            return ALLOWED
        groups = " ".join(json.dumps(group) for group in user.groups)
        listed = "\n".join(sorted(rule.describe() for rule in compact(missing)))
        return _refused(
            review,
            f"user {json.dumps(user.name, ensure_ascii=False)} (groups=[{groups}]) "
            f"is attempting to grant RBAC permissions not currently held:\n{listed}",
        )


def _refused(review: Review, text: str) -> Admission:
    message = f'{review.kind.resource} "{review.name}" is forbidden: {text}'
    return Admission(Refusal(message, 403, "Forbidden"))
