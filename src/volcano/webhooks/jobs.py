"""Jobs: the two checks; defaults and rules are in the `job_` modules."""

from functools import partial

import msgspec

from volcano.api import kinds
from volcano.api.admission import Lookup, Review
from volcano.webhooks import job_defaults
from volcano.webhooks.check import (
    MutatingCheck,
    Options,
    ValidatingCheck,
    Verdict,
    spec_of,
    without_nulls,
)
from volcano.webhooks.job_checks import NewJob, creation_errors, restart_warnings
from volcano.webhooks.job_updates import update_error
from volcano.webhooks.shapes import JobShape


def mutating(options: Options) -> MutatingCheck:
    """The check at `/jobs/mutate`."""
    return MutatingCheck(
        path="/jobs/mutate",
        name="mutatejob.volcano.sh",
        kinds=frozenset({kinds.JOB}),
        plan=job_defaults.planner(options),
        operations=frozenset({"CREATE", "UPDATE"}),
    )


def validating(options: Options) -> ValidatingCheck:
    """The check at `/jobs/validate`."""
    return ValidatingCheck(
        path="/jobs/validate",
        name="validatejob.volcano.sh",
        kinds=frozenset({kinds.JOB}),
        operations=frozenset({"CREATE", "UPDATE"}),
        decide=partial(_decide, options),
    )


def _decide(options: Options, review: Review, lookup: Lookup) -> Verdict:
    new = spec_of(review.obj) or {}
    shape = msgspec.convert(without_nulls(new), JobShape)
    if review.operation == "UPDATE":
        return Verdict(update_error(spec_of(review.old) or {}, new, shape, review.name))
    message = creation_errors(NewJob(review.name, shape), lookup, options)
    return Verdict(message, () if message else restart_warnings(shape.tasks))
