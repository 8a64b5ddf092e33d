"""HyperNodes: they have members, and their patterns can be compiled."""

import msgspec

from volcano.api import kinds
from volcano.api.admission import Lookup, Review
from volcano.api.re2 import compile_re2
from volcano.webhooks.check import ValidatingCheck, Verdict, spec_of, without_nulls
from volcano.webhooks.shapes import HyperNodeShape


def validating() -> ValidatingCheck:
    """The check at `/hypernodes/validate`."""
    return ValidatingCheck(
        path="/hypernodes/validate",
        name="validatehypernode.volcano.sh",
        kinds=frozenset({kinds.HYPER_NODE}),
        operations=frozenset({"CREATE", "UPDATE"}),
        decide=_decide,
    )


def _decide(review: Review, _lookup: Lookup) -> Verdict:
    spec = msgspec.convert(without_nulls(spec_of(review.obj) or {}), HyperNodeShape)
    if not spec.members:
        return Verdict("spec.members: Invalid value: []: member must have at least one member")
    errors = []
    for member in spec.members:
        selector = member.selector
        pattern = selector.regex_match.pattern if selector and selector.regex_match else ""
        error = pattern_error(pattern)
        if error:
            errors.append(
                f'spec.members.selector.regexMatch.pattern: Invalid value: "{pattern}":'
                f" member regexMatch pattern is invalid: {error}"
            )
    return Verdict(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]" if errors else "")


def pattern_error(pattern: str) -> str:
    """Why a pattern cannot be compiled, or an empty text."""
    try:
        compile_re2(pattern)
    except ValueError as error:
        return str(error)
    return ""
