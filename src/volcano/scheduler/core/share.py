"""Shares: the dominant one of a holder, and weighted max-min sharing of a cluster by queues."""

from collections.abc import Mapping
from dataclasses import dataclass, field

TOLERANCE = 0.1
"""Two amounts (in units of their axis) nearer than this count as equal."""


def dominant_share(held: Mapping[int, float], total: Mapping[int, float]) -> float:
    """The largest fraction of any resource there is, at least 0."""
    most = 0.0
    for axis, amount in held.items():
        size = total.get(axis, 0)
        if size >= TOLERANCE and amount / size > most:
            most = amount / size
    return most


def within(left: Mapping[int, float], right: Mapping[int, float]) -> bool:
    """Whether left is at most right on each of left's axes; what right does not name is 0."""
    for axis, amount in left.items():
        limit = right.get(axis, 0)
        if not (amount < limit or abs(amount - limit) < TOLERANCE):
            return False
    return True


@dataclass(slots=True)
class Claimant:
    """One queue in `fill`: what it may get, what it wants, what it must get, what it got."""

    weight: int
    limit: Mapping[int, float]
    request: Mapping[int, float]
    guarantee: Mapping[int, float]
    deserved: dict[int, float] = field(default_factory=dict)


def fill(total: Mapping[int, float], claimants: Mapping[str, Claimant]) -> None:
    """Divide a total by weight; what a claimant cannot use goes to the others, until all is met.

    Claimants of weight 0 share equally what those with a weight leave. `limit` names only the axes
    that are limited. Sets `deserved` of every claimant.
    """
    remaining = dict(total)
    open_claims = dict(claimants)
    while open_claims:
        weights = sum(claim.weight for claim in open_claims.values())
        equal = weights == 0
        if equal:
            weights = len(open_claims)
        change: dict[int, float] = {}
        number = len(open_claims)
        for name, claim in sorted(open_claims.items()):
            if not claim.weight and not equal:
                continue
            before = claim.deserved
            after = _next(claim, remaining, (1 if equal else claim.weight) / weights)
            claim.deserved = after
            if within(claim.request, after) or _same(before, after):
                del open_claims[name]
            for axis in before.keys() | after.keys():
                change[axis] = change.get(axis, 0) + after.get(axis, 0) - before.get(axis, 0)
        left = {axis: max(amount - change.get(axis, 0), 0.0) for axis, amount in remaining.items()}
        at_rest = left == remaining and len(open_claims) == number
        if at_rest or all(amount < TOLERANCE for amount in left.values()):
            return
        remaining = left


def _next(claim: Claimant, remaining: Mapping[int, float], part: float) -> dict[int, float]:
    result: dict[int, float] = {}
    for axis in claim.deserved.keys() | remaining.keys():
        amount = claim.deserved.get(axis, 0.0) + remaining.get(axis, 0.0) * part
        if axis in claim.limit:
            amount = min(amount, claim.limit[axis])
        result[axis] = min(amount, claim.request.get(axis, 0.0))
    for axis, amount in claim.guarantee.items():
        result[axis] = max(result.get(axis, 0.0), amount)
    return result


def _same(before: Mapping[int, float], after: Mapping[int, float]) -> bool:
    return all(
        before.get(axis, 0.0) == after.get(axis, 0.0) for axis in before.keys() | after.keys()
    )
