"""What the API is put together from; `assembly` makes it, `api` and `subresources` use it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from volcano.api.pod_logs import PodLogs
from volcano.base.clock import Clock
from volcano.server.admission.chain import Chain
from volcano.server.auth.authn import Authenticator
from volcano.server.auth.rbac import Authorizer
from volcano.server.auth.reviews import Reviews
from volcano.server.auth.tokens import ServiceAccountTokens
from volcano.server.discovery import Discovery
from volcano.server.openapi import OpenApi
from volcano.server.resources import Resources
from volcano.server.store.store import Store


@dataclass(slots=True)
class Security:
    """Who may what."""

    authenticator: Authenticator
    authorizer: Authorizer
    reviews: Reviews
    tokens: ServiceAccountTokens


@dataclass(slots=True)
class Parts:
    """Everything that answering takes.

    Attributes:
        ready: whether /readyz says ok.
        pod_logs: where container logs come from; None when nobody runs containers here.
    """

    store: Store
    resources: Resources
    chain: Chain
    security: Security
    discovery: Discovery
    openapi: OpenApi
    clock: Clock
    pod_logs: PodLogs | None = None
    ready: Callable[[], bool] = field(default=lambda: True)
