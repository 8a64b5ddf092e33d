"""The ordered chain of admission checks: mutating ones, later validating ones, warnings collected.

The chain knows no check by name: the built-in ones and those of `volcano.webhooks` are given at
assembly, in the order they run.
"""

from collections.abc import Sequence

from volcano.api.admission import Admission, Admitter, Lookup, Refusal, Review
from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError, ErrorDetails


class Chain:
    """Runs the checks that concern a review."""

    def __init__(
        self, mutating: Sequence[Admitter], validating: Sequence[Admitter], lookup: Lookup
    ) -> None:
        self._mutating = tuple(mutating)
        self._validating = tuple(validating)
        self._lookup = lookup
        self._chosen: dict[tuple[str, str, str, bool], tuple[Admitter, ...]] = {}

    def mutate(self, review: Review, warnings: list[str]) -> Review:
        """The review with what the mutating checks made of its object.

        Raises:
            ApiError: a check refuses.
        """
        for check in self._concerned(review, mutating=True):
            answer = check.admit(review, self._lookup)
            _heed(review, answer, warnings)
            if answer.patched is not None:
                review = _with_object(review, answer.patched)
        return review

    def validate(self, review: Review, warnings: list[str]) -> None:
        """Ask the validating checks.

        Raises:
            ApiError: a check refuses.
        """
        for check in self._concerned(review, mutating=False):
            _heed(review, check.admit(review, self._lookup), warnings)

    def _concerned(self, review: Review, *, mutating: bool) -> tuple[Admitter, ...]:
        kind = review.kind
        key = (kind.group, kind.plural, review.operation, mutating)
        chosen = self._chosen.get(key)
        if chosen is None:
            checks = self._mutating if mutating else self._validating
            chosen = self._chosen[key] = tuple(
                check
                for check in checks
                if review.operation in check.operations
                and any((one.group, one.plural) == key[:2] for one in check.kinds)
            )
        return chosen


def _with_object(review: Review, obj: JsonObject) -> Review:
    """The same review of another object; spelled out, since every write passes here."""
    return Review(
        review.operation,
        review.kind,
        review.namespace,
        review.name,
        obj,
        review.old,
        review.user,
        review.subresource,
        review.dry_run,
    )


def _heed(review: Review, answer: Admission, warnings: list[str]) -> None:
    warnings.extend(answer.warnings)
    refusal = answer.refusal
    if refusal is not None:
        raise ApiError(
            refusal.reason,
            refusal.message,
            code=refusal.code,
            details=ErrorDetails(
                name=review.name, group=review.kind.group, kind=review.kind.plural
            ),
        )


def refused(review: Review, why: str) -> Admission:
    """A Forbidden answer as Kubernetes words it."""
    subject = f'{review.kind.resource} "{review.name}"' if review.name else review.kind.resource
    return Admission(Refusal(f"{subject} is forbidden: {why}", 403, "Forbidden"))
