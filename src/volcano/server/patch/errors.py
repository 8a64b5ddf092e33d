"""Answers to patches that cannot be applied, worded as kube-apiserver words them."""

from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError, Cause, ErrorDetails
from volcano.server.schema import causes


def bad_patch(message: str) -> ApiError:
    """The patch itself is malformed (400)."""
    return ApiError("BadRequest", message)


def unprocessable(problem: str) -> ApiError:
    """The patch is well formed but does not fit the object (422).

    Kubernetes tells no reason here; ours stands in the causes, the message is the same.
    """
    message = "the server rejected our request due to an error in our request"
    cause = Cause("UnexpectedServerResponse", problem, "patch")
    return ApiError("Invalid", message, details=ErrorDetails(causes=(cause,)))


def patched_invalid(patched: str, problem: str) -> ApiError:
    """The patched object does not decode (422).

    Args:
        patched: what `patch` shows as its value: the patched object or the patch as text.
        problem: the decoding error, strict or not.
    """
    cause = causes.invalid("patch", patched, problem)
    message = f' "" is invalid: {causes.sentence(cause)}'
    return ApiError("Invalid", message, details=ErrorDetails(causes=(cause,)))


def untyped(config: JsonObject, errors: list[str]) -> ApiError:
    """An applied configuration does not fit the schema (400)."""
    meta = config.get("metadata") or {}
    group_version = str(config.get("apiVersion", ""))
    slash = "" if "/" in group_version else "/"
    who = (
        f"{meta.get('namespace', '')}/{meta.get('name', '')}; "
        f"{slash}{group_version}, Kind={config.get('kind', '')}"
    )
    text = errors[0] if len(errors) == 1 else "\n  ".join(["errors:", *errors])
    return bad_patch(f"failed to create typed patch object ({who}): {text}")
