"""The tree of operating errors. Outcomes are values, bugs are assertions; only trouble is here.

    VolcanoError              text for people in `public`, more for the log in `detail`
    ├── ConfigError           a file, flag or argument is wrong: object, field, what to do
    ├── ApiError              a refusal in Kubernetes terms: HTTP code and Status reason
    ├── StoreError            the store cannot do it now (disk full, locked): nothing was changed
    └── NodeError             a node cannot run or reach something

Branches live with their owners and derive from these four.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class VolcanoError(Exception):
    """Root of all errors this project raises on purpose."""

    def __init__(self, public: str, detail: str = "") -> None:
        super().__init__(public)
        self.public = public
        self.detail = detail


class ConfigError(VolcanoError):
    """A configuration file, flag or argument is wrong; the text names it and says what to do."""


class StoreError(VolcanoError):
    """The store could not do what was asked; nothing was changed."""


class NodeError(VolcanoError):
    """A node could not start, stop, find or read something."""


class Cause(NamedTuple):
    """One entry of `Status.details.causes`: what is wrong with which field."""

    reason: str
    message: str
    field: str = ""


REASON_CODES: Mapping[str, int] = {
    "BadRequest": 400,
    "Unauthorized": 401,
    "Forbidden": 403,
    "NotFound": 404,
    "MethodNotAllowed": 405,
    "NotAcceptable": 406,
    "AlreadyExists": 409,
    "Conflict": 409,
    "Gone": 410,
    "Expired": 410,
    "RequestEntityTooLarge": 413,
    "UnsupportedMediaType": 415,
    "Invalid": 422,
    "TooManyRequests": 429,
    "InternalError": 500,
    "NotImplemented": 501,
    "ServiceUnavailable": 503,
    "Timeout": 504,
}
"""HTTP code of each `metav1.Status` reason (k8s.io/apimachinery, api/errors)."""


class ApiError(VolcanoError):
    """A refusal as the Kubernetes API words it: HTTP code, reason, message and details.

    Raised by the server to answer, and by the client when a server answered so.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        code: int | None = None,
        details: "ErrorDetails | None" = None,
        status: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.code = code if code is not None else REASON_CODES.get(reason, 500)
        self.details = details
        self._status = status

    def to_status(self) -> dict[str, Any]:
        """The `metav1.Status` object for the wire."""
        if self._status is not None:
            return dict(self._status)
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
        }
        if self.details is not None:
            status["details"] = self.details.to_json()
        status["code"] = self.code
        return status


class ErrorDetails(NamedTuple):
    """`Status.details`: which object, and for an invalid one the causes per field."""

    name: str = ""
    group: str = ""
    kind: str = ""
    uid: str = ""
    causes: Sequence[Cause] = ()
    retry_after_seconds: int = 0

    def to_json(self) -> dict[str, Any]:
        """The object for the wire, empty fields left out."""
        causes = [
            {key: value for key, value in cause_pairs(cause) if value} for cause in self.causes
        ]
        pairs = {
            "name": self.name,
            "group": self.group,
            "kind": self.kind,
            "uid": self.uid,
            "causes": causes,
            "retryAfterSeconds": self.retry_after_seconds,
        }
        return {key: value for key, value in pairs.items() if value}


def cause_pairs(cause: Cause) -> Sequence[tuple[str, str]]:
    """The JSON pairs of a cause, in the order Kubernetes writes them."""
    return (("reason", cause.reason), ("message", cause.message), ("field", cause.field))
