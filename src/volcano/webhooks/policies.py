"""Lifecycle policies: which event or exit code leads to which action, each once."""

from collections.abc import Sequence

from volcano.api.batch import POLICY_EVENTS, JobEvent
from volcano.api.bus import POLICY_ACTIONS
from volcano.webhooks.shapes import PolicyShape

_HINT = (
    f" valid events are [{' '.join(POLICY_EVENTS)}],"
    f" valid actions are [{' '.join(POLICY_ACTIONS)}];"
)


def policy_errors(policies: Sequence[PolicyShape], path: str) -> str:
    """What is wrong with a list of policies, with the valid values; empty if nothing.

    The first bad rule ends the search: rules after it may only look wrong because of it.
    """
    events: dict[str, None] = {}
    exit_codes: set[int] = set()
    errors: list[str] = []
    for policy in policies:
        error = _rule_error(policy, path, events, exit_codes)
        if error:
            errors.append(error)
            break
    if JobEvent.ANY in events and len(events) > 1:
        errors.append("if there's * here, no other policy should be here")
    return _several(errors) + _HINT if errors else ""


def _rule_error(
    policy: PolicyShape, path: str, events: dict[str, None], exit_codes: set[int]
) -> str:
    """What is wrong with one rule; what it reacts to is added to what is taken."""
    if policy.all_events:
        if policy.exit_code is not None:
            return "must not specify event and exitCode simultaneously"
        return _event_error(policy, path, events)
    if policy.exit_code is None:
        return "either event and exitCode should be specified"
    if policy.exit_code == 0:
        return "0 is not a valid error code"
    if policy.exit_code in exit_codes:
        return f"duplicate exitCode {policy.exit_code}"
    exit_codes.add(policy.exit_code)
    return ""


def _event_error(policy: PolicyShape, path: str, events: dict[str, None]) -> str:
    for event in policy.all_events:
        if event not in POLICY_EVENTS:
            return f'{path}: Invalid value: "{event}": invalid policy event'
        if policy.action not in POLICY_ACTIONS:
            return f'{path}: Invalid value: "{policy.action}": invalid policy action'
        if event in events:
            return f"duplicate event {event}  across different policy"
        events[event] = None
    return ""


def _several(errors: Sequence[str]) -> str:
    head = "1 error occurred" if len(errors) == 1 else f"{len(errors)} errors occurred"
    return f"{head}:\n" + "".join(f"\t* {error}\n" for error in errors) + "\n"
