"""JobFlows: their steps must have an order."""

import msgspec

from volcano.api import kinds
from volcano.api.admission import Lookup, Review
from volcano.webhooks import graph
from volcano.webhooks.check import ValidatingCheck, Verdict, spec_of, without_nulls
from volcano.webhooks.shapes import JobFlowShape


def validating() -> ValidatingCheck:
    """The check at `/jobflows/validate`."""
    return ValidatingCheck(
        path="/jobflows/validate",
        name="validatejobflow.volcano.sh",
        kinds=frozenset({kinds.JOB_FLOW}),
        operations=frozenset({"CREATE", "UPDATE"}),
        decide=_decide,
    )


def _decide(review: Review, _lookup: Lookup) -> Verdict:
    spec = msgspec.convert(without_nulls(spec_of(review.obj) or {}), JobFlowShape)
    # Of two steps of one name the later one counts.
    edges = {flow.name: flow.depends_on.targets if flow.depends_on else () for flow in spec.flows}
    undefined = graph.undefined_target(edges)
    if undefined is not None:
        return Verdict(f"jobflow Flow is not DAG: vertex is not defined: {undefined}")
    return Verdict("" if graph.order(edges) is not None else "jobflow Flow is not DAG")
