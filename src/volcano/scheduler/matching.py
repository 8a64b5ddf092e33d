"""Kubernetes' matching rules for nodes: tolerations, node selector terms."""

from collections.abc import Callable, Iterable

import numpy as np

from volcano.scheduler.model.task import NodeTerm, Requirement, Taint, Toleration
from volcano.scheduler.model.topology import Bool, NodeFacts


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether any toleration covers a taint."""
    return any(
        t.effect in ("", taint.effect)
        and t.key in ("", taint.key)
        and (t.operator == "Exists" or (t.operator == "Equal" and t.value == taint.value))
        for t in tolerations
    )


def matches_term(facts: NodeFacts, term: NodeTerm) -> Bool:
    """Which nodes of the fleet meet all of a term; none for an empty one."""
    if not term.expressions and not term.fields:
        return np.zeros(len(facts.nodes), np.bool_)
    ok = np.ones(len(facts.nodes), np.bool_)
    for requirement in term.expressions:
        ok &= facts.where_label(requirement.key, _test(requirement))
    for requirement in term.fields:
        test = _test(requirement)
        ok &= facts.where_name(lambda name, test=test: test(name))  # type: ignore[misc]  # bound now
        if requirement.key != "metadata.name":
            ok &= False
    return ok


def matches_any(facts: NodeFacts, terms: Iterable[NodeTerm]) -> Bool:
    """Which nodes meet at least one of the terms."""
    ok = np.zeros(len(facts.nodes), np.bool_)
    for term in terms:
        ok |= matches_term(facts, term)
    return ok


def _test(requirement: Requirement) -> Callable[[str | None], bool]:
    values = requirement.values
    match requirement.operator:
        case "In":
            return lambda value: value in values
        case "NotIn":
            return lambda value: value not in values
        case "Exists":
            return lambda value: value is not None
        case "DoesNotExist":
            return lambda value: value is None
        case "Gt":
            return lambda value: _compare(value, values, 1)
        case "Lt":
            return lambda value: _compare(value, values, -1)
    return lambda _: False


def _compare(value: str | None, values: tuple[str, ...], sign: int) -> bool:
    if value is None or len(values) != 1:
        return False
    try:
        return sign * int(value) > sign * int(values[0])
    except ValueError:
        return False
