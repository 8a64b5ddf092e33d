"""What the API server asks an admission check and what it hears back.

The server calls `Admitter`s it was given at assembly; the checks in `volcano.webhooks` are some.
Neither knows the other: both know this module.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base.identity import UserInfo

Operation = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]


class Review(NamedTuple):
    """One operation under review (admission.k8s.io AdmissionRequest).

    `obj` is None for DELETE, `old` is None for CREATE. Checks must not change either.
    """

    operation: Operation
    kind: Kind
    namespace: str
    name: str
    obj: JsonObject | None
    old: JsonObject | None
    user: UserInfo
    subresource: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an operation is not allowed; `code` and `reason` as in `metav1.Status`."""

    message: str
    code: int = 400
    reason: str = "BadRequest"


class Admission(NamedTuple):
    """The answer to a review.

    Attributes:
        refusal: set when the operation is not allowed.
        patched: the object to go on with, when a mutating check changed it (a new dict).
        warnings: texts for the client's `Warning` headers.
    """

    refusal: Refusal | None = None
    patched: JsonObject | None = None
    warnings: Sequence[str] = ()


ALLOWED = Admission()


class Lookup(Protocol):
    """Reads the server's current objects; returned dicts are shared and must not be changed."""

    def get(self, kind: Kind, namespace: str, name: str) -> JsonObject | None:
        """The stored object, or None. `namespace` is empty for cluster-scoped kinds."""
        ...

    def list(self, kind: Kind, namespace: str = "") -> Iterable[JsonObject]:
        """All stored objects of a kind, in one namespace or (empty) in all."""
        ...


class Admitter(Protocol):
    """One admission check, mutating or validating, for the kinds it says."""

    @property
    def name(self) -> str:
        """Names the check in refusals."""
        ...

    @property
    def kinds(self) -> frozenset[Kind]:
        """Kinds it is asked about."""
        ...

    @property
    def operations(self) -> frozenset[Operation]:
        """Operations it is asked about."""
        ...

    def admit(self, review: Review, lookup: Lookup) -> Admission:
        """Decide on one operation; pure but for reads through `lookup`."""
        ...
