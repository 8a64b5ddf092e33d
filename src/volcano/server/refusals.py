"""Refusals of the API in the words that Kubernetes clients know: one function per kind of no."""

from collections.abc import Sequence

from volcano.api.kinds import Kind
from volcano.base.errors import ApiError, Cause, ErrorDetails, StoreError
from volcano.server.store.log import CompactedError, StoreFullError, StoreLockedError

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def _details(kind: Kind, name: str, uid: str = "", causes: Sequence[Cause] = ()) -> ErrorDetails:
    return ErrorDetails(name=name, group=kind.group, kind=kind.plural, uid=uid, causes=causes)


def unknown_path() -> ApiError:
    """404 for a path that names nothing served."""
    return ApiError(
        "NotFound", "the server could not find the requested resource", details=ErrorDetails()
    )


def method_not_allowed() -> ApiError:
    """405 for a method that the resource does not have."""
    return ApiError(
        "MethodNotAllowed", "the server does not allow this method on the requested resource"
    )


def not_found(kind: Kind, name: str) -> ApiError:
    """404 for an object that is not there."""
    return ApiError("NotFound", f'{kind.resource} "{name}" not found', details=_details(kind, name))


def already_exists(kind: Kind, name: str) -> ApiError:
    """409 for a create of something that is there."""
    return ApiError(
        "AlreadyExists", f'{kind.resource} "{name}" already exists', details=_details(kind, name)
    )


def conflict(kind: Kind, name: str, why: str = MODIFIED) -> ApiError:
    """409 for a write that was based on another version."""
    return ApiError(
        "Conflict",
        f'Operation cannot be fulfilled on {kind.resource} "{name}": {why}',
        details=_details(kind, name),
    )


def forbidden(kind: Kind, name: str, why: str, causes: Sequence[Cause] = ()) -> ApiError:
    """403 from admission."""
    subject = f'{kind.resource} "{name}"' if name else kind.resource
    return ApiError(
        "Forbidden", f"{subject} is forbidden: {why}", details=_details(kind, name, causes=causes)
    )


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> ApiError:
    """422 with one cause per wrong field."""
    return _invalid(kind.group, kind.kind, name, causes)


def invalid_options(options: str, causes: Sequence[Cause]) -> ApiError:
    """422 about query parameters, e.g. `ListOptions` of meta.k8s.io."""
    return _invalid("meta.k8s.io", options, "", causes)


def _invalid(group: str, kind: str, name: str, causes: Sequence[Cause]) -> ApiError:
    texts = [
        f"{cause.field}: {cause.message}" if cause.field else cause.message for cause in causes
    ]
    subject = f"{kind}.{group}" if group else kind
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    return ApiError(
        "Invalid",
        f'{subject} "{name}" is invalid: {joined}',
        details=ErrorDetails(name=name, group=group, kind=kind, causes=tuple(causes)),
    )


def bad_request(message: str) -> ApiError:
    """400 with the given text."""
    return ApiError("BadRequest", message)


def too_large_revision(asked: int, current: int) -> ApiError:
    """504 for a resourceVersion that is still to come; clients know it by the cause."""
    return ApiError(
        "Timeout",
        f"Too large resource version: {asked}, current: {current}",
        details=ErrorDetails(
            causes=(Cause("ResourceVersionTooLarge", "Too large resource version"),),
            retry_after_seconds=1,
        ),
    )


def expired(error: CompactedError) -> ApiError:
    """410 for history that was compacted."""
    return ApiError("Expired", error.public)


def store_trouble(error: StoreError) -> ApiError:
    """What a failing store means to the client: 507 for a full disk, 503 otherwise."""
    if isinstance(error, CompactedError):
        return expired(error)
    if isinstance(error, StoreFullError):
        refusal = ApiError("InsufficientStorage", error.public, code=507)
    elif isinstance(error, StoreLockedError):
        refusal = ApiError(
            "ServiceUnavailable", error.public, details=ErrorDetails(retry_after_seconds=1)
        )
    else:
        refusal = ApiError("ServiceUnavailable", error.public)
    refusal.detail = error.detail
    return refusal
