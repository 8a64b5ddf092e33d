"""The API as one callable: route, authenticate, authorize, and hand to whoever answers.

`Api.__call__` takes a plain `Request` and gives a plain `Response`; it knows no web framework.
Refusals become `Status` answers here, and only here.
"""

import structlog

from volcano.api import kinds
from volcano.base.errors import ApiError, StoreError
from volcano.base.http import TEXT_HEADERS, Request, Response
from volcano.base.identity import UserInfo
from volcano.base.limits import REQUEST_BODY_BYTES_MAX
from volcano.server.auth.rbac import forbidden
from volcano.server.auth.rules import Attributes
from volcano.server.calls import Call, write_options
from volcano.server.crds import terminating
from volcano.server.deleting import Deleter
from volcano.server.parts import Parts
from volcano.server.protobuf import with_json_body
from volcano.server.reading import Reader
from volcano.server.refusals import (
    bad_request,
    method_not_allowed,
    store_trouble,
    unknown_path,
)
from volcano.server.representation import JSON_HEADERS, encode
from volcano.server.resources import Resource
from volcano.server.routes import Route, parse
from volcano.server.subresources import Subresources
from volcano.server.watching import Watcher
from volcano.server.writing import Writer

_HEALTH = frozenset({"/livez", "/readyz", "/healthz"})
_COLLECTION_VERBS = frozenset({"create", "list", "watch", "deletecollection"})

_log = structlog.get_logger(__name__)


class Api:
    """Answers every request of the Kubernetes API that this server knows."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._store = parts.store
        self._resources = parts.resources
        self._security = parts.security
        self._reader = Reader(parts.store, parts.clock)
        self._watcher = Watcher(parts.store, parts.clock)
        self.writer = Writer(parts.store, parts.chain, parts.clock)
        self.deleter = Deleter(parts.store, parts.chain, parts.clock)
        self._subresources = Subresources(parts, self.writer, self.deleter)

    async def __call__(self, request: Request) -> Response:
        """Answer one request; refusals and trouble are answers, too."""
        try:
            return await self._answer(request)
        except ApiError as error:
            return refusal(error)
        except StoreError as error:
            return refusal(store_trouble(error))
        except Exception as error:  # noqa: BLE001 - the edge: a bug must answer 500 and be logged, not break the connection
            _log.exception("request failed", method=request.method, path=request.path)
            return refusal(
                ApiError("InternalError", f"Internal error occurred: {type(error).__name__}")
            )

    async def _answer(self, request: Request) -> Response:
        if len(request.body) > REQUEST_BODY_BYTES_MAX:
            raise ApiError(
                "RequestEntityTooLarge",
                f"Request entity too large: limit is {REQUEST_BODY_BYTES_MAX}",
            )
        request = with_json_body(request)
        user = self._security.authenticator.authenticate(request)
        route = parse(request.method, request.path, request.query)
        if route is None:
            return self._answer_path(request, user)
        if user is None:
            raise ApiError("Unauthorized", "Unauthorized")
        self._authorize(request, route, user)
        resource = self._resource(route)
        if route.name and not route.subresource and route.verb == "get":
            return self._reader.get(resource, route, request)
        call = Call(request, route, resource, user)
        response = await self._dispatch(call)
        if call.warnings:
            response = response._replace(warnings=tuple(dict.fromkeys(call.warnings)))
        return response

    def _resource(self, route: Route) -> Resource:
        resource = self._resources.find(route.group, route.version, route.plural)
        if resource is None:
            raise unknown_path()
        if route.namespace and not resource.kind.namespaced:
            raise unknown_path()
        if route.subresource:
            return resource
        verb = route.verb
        if bool(route.name) == (verb in _COLLECTION_VERBS) or verb not in resource.kind.verbs:
            raise method_not_allowed()
        if resource.kind.namespaced and not route.namespace and verb not in ("list", "watch"):
            if verb == "create" and "list" in resource.kind.verbs:
                raise bad_request("an empty namespace may not be set during creation")
            raise method_not_allowed()
        return resource

    def _authorize(self, request: Request, route: Route, user: UserInfo) -> None:
        name, namespace = route.name, route.namespace
        if not name and "fieldSelector" in request.query and route.verb in ("list", "watch"):
            name = _selected_name(request.query["fieldSelector"])
        if route.plural == "namespaces" and not route.group:
            namespace = route.name
        attributes = Attributes(
            route.verb,
            route.group,
            route.plural,
            route.subresource,
            namespace,
            name,
        )
        decision = self._security.authorizer.authorize(user, attributes)
        if not decision.allowed:
            raise forbidden(user, attributes, decision)

    async def _dispatch(self, call: Call) -> Response:
        route, resource = call.route, call.resource
        if route.subresource and route.subresource != "status":
            return await self._subresources.answer(call)
        if route.subresource and not resource.has_status:
            raise unknown_path()
        match route.verb:
            case "get":
                return self._reader.get(resource, route, call.request)
            case "list":
                return await self._reader.collection(resource, route, call.request)
            case "watch":
                return self._watcher.watch(resource, route, call.request)
            case "create":
                return await self._create(call)
            case "update":
                return await self.writer.update(call)
            case "patch":
                return await self.writer.patch(call)
            case "delete" if not route.subresource:
                return await self.deleter.delete(call)
            case "deletecollection":
                return await self.deleter.delete_collection(call)
        raise method_not_allowed()

    async def _create(self, call: Call) -> Response:
        resource = call.resource
        if resource.kind.verbs == kinds.CREATE_ONLY:
            body = self.writer.decoded(call, write_options(call))
            answer = self._security.reviews.answer(
                resource.kind, body, call.user, call.route.namespace
            )
            return Response(201, JSON_HEADERS, encode(answer))
        if terminating(resource.entry.crd):
            raise ApiError(
                "MethodNotAllowed",
                "create not allowed while custom resource definition is terminating",
            )
        return await self.writer.create(call)

    def _answer_path(self, request: Request, user: UserInfo | None) -> Response:
        """Paths that are no resources: health, version, discovery, OpenAPI."""
        path = request.path
        base = "/" + path.split("/")[1]
        if base in _HEALTH:
            return self._health(base)
        if path != "/version":
            if user is None:
                raise ApiError("Unauthorized", "Unauthorized")
            attributes = Attributes(request.method.lower(), path=path)
            decision = self._security.authorizer.authorize(user, attributes)
            if not decision.allowed:
                raise forbidden(user, attributes, decision)
        if request.method not in ("GET", "HEAD"):
            raise method_not_allowed()
        response = self._parts.openapi.answer(request)
        if response is None:
            response = self._parts.discovery.answer(request)
        if response is None:
            raise unknown_path()
        return response

    def _health(self, path: str) -> Response:
        if path == "/readyz" and not self._parts.ready():
            return Response(500, TEXT_HEADERS, b"not ready: the server is starting or stopping")
        return Response(200, TEXT_HEADERS, b"ok")


def _selected_name(fields: str) -> str:
    """The object name that a field selector fixes: RBAC by resourceNames looks at it."""
    for part in fields.split(","):
        path, _, value = part.replace("==", "=").partition("=")
        if path.strip() == "metadata.name":
            return value.strip()
    return ""


def refusal(error: ApiError) -> Response:
    """The answer for an error: a `Status`."""
    headers = dict(JSON_HEADERS)
    if error.details is not None and error.details.retry_after_seconds:
        headers["retry-after"] = str(error.details.retry_after_seconds)
    return Response(error.code, headers, encode(error.to_status()))
