"""What is served below an object besides its status: scale, binding, eviction, log, token, …"""

from collections.abc import Awaitable, Callable
from functools import partial

from volcano.api import kinds
from volcano.api.admission import Review
from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError
from volcano.base.http import Response
from volcano.server import patch, pods, scale
from volcano.server.calls import Call, read_delete_options, write_options
from volcano.server.deleting import Deleter
from volcano.server.parts import Parts
from volcano.server.refusals import bad_request, conflict, method_not_allowed, unknown_path
from volcano.server.representation import JSON_HEADERS, decode, encode
from volcano.server.resources import LatestLookup
from volcano.server.schema import DecodeError, decode_yaml
from volcano.server.store.log import StaleRevisionError
from volcano.server.writing import JSON_PATCH, MERGE_PATCH, Writer, encoded_at

Handle = Callable[[Call], Awaitable[Response]]

_SUCCESS: JsonObject = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}


class Subresources:
    """Answers requests below an object."""

    def __init__(self, parts: Parts, writer: Writer, deleter: Deleter) -> None:
        self._store = parts.store
        self._resources = parts.resources
        self._writer = writer
        self._deleter = deleter
        self._chain = parts.chain
        self._clock = parts.clock
        self._tokens = parts.security.tokens
        self._pod_logs = parts.pod_logs
        self._lookup = LatestLookup(parts.store)
        self._handlers: dict[tuple[str, str, str, str], Handle] = {
            ("", "pods", "binding", "create"): self._bind,
            ("", "pods", "eviction", "create"): self._evict,
            ("", "pods", "log", "get"): self._log,
            ("", "namespaces", "finalize", "update"): self._writer.update,
            ("", "serviceaccounts", "token", "create"): self._token,
        }
        for name in ("exec", "attach", "portforward"):
            for verb in ("get", "create"):
                self._handlers["", "pods", name, verb] = self._not_yet
        self._handlers["", "pods", "ephemeralcontainers", "patch"] = self._not_yet
        self._handlers["", "pods", "ephemeralcontainers", "update"] = self._not_yet

    async def answer(self, call: Call) -> Response:
        """Answer a request below an object (other than its status).

        Raises:
            ApiError: any refusal.
        """
        route, kind = call.route, call.resource.kind
        if route.subresource not in kind.subresources:
            raise unknown_path()
        if route.subresource == "scale":
            return await self._scale(call)
        handler = self._handlers.get((kind.group, kind.plural, route.subresource, route.verb))
        if handler is None:
            raise method_not_allowed()
        return await handler(call)

    async def _not_yet(self, call: Call) -> Response:
        raise ApiError(
            "NotImplemented",
            f"{call.route.subresource} is not implemented by this server yet; `kubectl logs` shows"
            " the output of a container",
        )

    def _body(self, call: Call, kind: str) -> JsonObject:
        try:
            body, _ = decode_yaml(call.request.body or b"{}")
        except DecodeError as error:
            raise bad_request(f"the body is no {kind}: {error}") from error
        if not isinstance(body, dict) or body.get("kind", kind) != kind:
            raise bad_request(f"the body must be a {kind}")
        return body

    # Scale.

    async def _scale(self, call: Call) -> Response:
        options = write_options(call)
        present = self._writer.present(call)
        seen = scale.to_scale(call.resource, present.obj)
        match call.route.verb:
            case "get":
                return Response(200, JSON_HEADERS, encode(seen))
            case "update":
                wanted = self._body(call, "Scale")
            case "patch":
                wanted = self._patched_scale(call, seen)
            case _:
                raise method_not_allowed()
        new = scale.scaled(call.resource, present.obj, wanted)
        value = await self._writer.replace(call, options, present, new)
        return Response(200, JSON_HEADERS, encode(scale.to_scale(call.resource, decode(value))))

    def _patched_scale(self, call: Call, seen: JsonObject) -> JsonObject:
        content_type = call.request.headers.get("content-type", "").partition(";")[0].strip()
        try:
            body, _ = decode_yaml(call.request.body)
        except DecodeError as error:
            raise bad_request(f"error decoding patch: {error}") from error
        if content_type == JSON_PATCH:
            return patch.json_patch(seen, body)
        if content_type in (MERGE_PATCH, "application/strategic-merge-patch+json"):
            # A Scale has no lists: a strategic merge patch does what a merge patch does.
            return patch.merge_patch(seen, body)  # type: ignore[no-any-return]  # the patch of an object by an object is one
        raise ApiError(
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include:"
            f" {JSON_PATCH}, {MERGE_PATCH}, application/strategic-merge-patch+json",
        )

    # Pods.

    async def _bind(self, call: Call) -> Response:
        options = write_options(call)
        binding = self._body(call, "Binding")
        present = self._writer.present(call)
        new = pods.bound(present.obj, binding, self._clock.now())
        await self._write(call, new, present.row.revision, dry_run=options.dry_run)
        return Response(201, JSON_HEADERS, encode(_SUCCESS))

    async def _write(self, call: Call, obj: JsonObject, revision: int, *, dry_run: bool) -> None:
        """Admit and store an object changed by the server itself."""
        review = Review(
            operation="CREATE",
            kind=call.resource.kind,
            namespace=call.route.namespace,
            name=call.route.name,
            obj=obj,
            old=None,
            user=call.user,
            subresource=call.route.subresource,
            dry_run=dry_run,
        )
        self._chain.validate(review, call.warnings)
        if dry_run:
            return
        key = call.resource.key(call.route.namespace, call.route.name)
        try:
            await self._store.put(key, revision, partial(encoded_at, obj))
        except StaleRevisionError:
            raise conflict(call.resource.kind, call.route.name) from None

    async def _evict(self, call: Call) -> Response:
        options = write_options(call)
        eviction = self._body(call, "Eviction")
        namespace = call.route.namespace
        present = self._writer.present(call)
        budgets = self._lookup.list(kinds.POD_DISRUPTION_BUDGET, namespace)
        budget = pods.check_eviction(present.obj, budgets)
        query = {"dryRun": "All"} if options.dry_run else {}
        wish = read_delete_options(eviction.get("deleteOptions") or {}, query)
        if budget is not None and not wish.dry_run:
            charged = pods.disrupted(budget, call.route.name, self._clock.now())
            key = self._resources.of(kinds.POD_DISRUPTION_BUDGET).key(
                namespace, budget["metadata"]["name"]
            )
            revision = int(budget["metadata"]["resourceVersion"])
            # Not awaited here: the deletion is committed together with it, or neither is.
            self._store.put(key, revision, partial(encoded_at, charged))
        await self._deleter.remove(call, call.route.name, wish)
        return Response(201, JSON_HEADERS, encode(_SUCCESS))

    async def _log(self, call: Call) -> Response:
        if self._pod_logs is None:
            raise ApiError("NotImplemented", "this server was started without a source of logs")
        key = call.resource.key(call.route.namespace, call.route.name)
        row = self._store.get(key)
        pod = decode(row.value) if row is not None else self._writer.present(call).obj
        stream = await self._pod_logs.open(pod, pods.log_options(pod, call.request.query))
        return Response(200, {"content-type": "text/plain"}, stream=stream)

    async def _token(self, call: Call) -> Response:
        body = self._body(call, "TokenRequest")
        answer = self._tokens.request(call.route.namespace, call.route.name, body)
        return Response(201, JSON_HEADERS, encode(answer))
