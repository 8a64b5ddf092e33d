"""Honest warnings: what is stored here and has nothing behind it yet says so when created."""

from collections.abc import Mapping

from volcano.api import kinds
from volcano.api.admission import ALLOWED, Admission, Lookup, Operation, Review
from volcano.api.kinds import Kind

_NO_CONTROLLER = "{kind} is stored, but no controller of this cluster acts on it yet"
_NO_NETWORK = "NetworkPolicy is stored, but this cluster does not enforce it yet"
_NOT_CALLED = "{kind} is stored, but webhooks are not called yet"

NOTICES: Mapping[Kind, str] = {
    kinds.DEPLOYMENT: _NO_CONTROLLER,
    kinds.REPLICA_SET: _NO_CONTROLLER,
    kinds.STATEFUL_SET: _NO_CONTROLLER,
    kinds.DAEMON_SET: _NO_CONTROLLER,
    kinds.REPLICATION_CONTROLLER: _NO_CONTROLLER,
    kinds.BATCH_JOB: _NO_CONTROLLER,
    kinds.BATCH_CRON_JOB: _NO_CONTROLLER,
    kinds.NETWORK_POLICY: _NO_NETWORK,
    kinds.MUTATING_WEBHOOK: _NOT_CALLED,
    kinds.VALIDATING_WEBHOOK: _NOT_CALLED,
}


class Notices:
    """Warns on creation of kinds that nothing acts on."""

    name = "Notices"
    operations: frozenset[Operation] = frozenset({"CREATE"})

    def __init__(self, notices: Mapping[Kind, str] = NOTICES) -> None:
        self._notices = notices
        self.kinds: frozenset[Kind] = frozenset(notices)

    def admit(self, review: Review, lookup: Lookup) -> Admission:  # noqa: ARG002 - says the same whatever is stored
        """Allow with a warning."""
        notice = self._notices.get(review.kind)
        if notice is None or review.subresource:
            return ALLOWED
        return Admission(warnings=(notice.format(kind=review.kind.kind),))
