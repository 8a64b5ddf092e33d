"""Admission of the Volcano kinds and of pods: defaults and checks, as pure functions.

`mutating` and `validating` give the checks that an API server runs in process, in order. Each file
holds one kind: its defaults as JSON patch operations, its checks as texts of what is wrong.
"""

from collections.abc import Sequence

from volcano.webhooks import cronjobs, hypernodes, jobflows, jobs, podgroups, pods, queues
from volcano.webhooks.check import MutatingCheck, Options, ValidatingCheck

__all__ = ["MutatingCheck", "Options", "ValidatingCheck", "mutating", "validating"]


def mutating(options: Options) -> Sequence[MutatingCheck]:
    """The checks that fill in defaults; they run before the schema is checked."""
    checks = (
        jobs.mutating(options),
        pods.mutating(options),
        podgroups.mutating(),
        queues.mutating(),
    )
    return tuple(check for check in checks if check.path in options.enabled)


def validating(options: Options) -> Sequence[ValidatingCheck]:
    """The checks that refuse; they run after the schema was checked."""
    checks = (
        jobs.validating(options),
        cronjobs.validating(),
        pods.validating(options),
        podgroups.validating(),
        queues.validating(options),
        jobflows.validating(),
        hypernodes.validating(),
    )
    return tuple(check for check in checks if check.path in options.enabled)
