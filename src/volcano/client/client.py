"""The asynchronous client of any Kubernetes-compatible API: one method per verb.

Objects go in and come out whole, as JSON. Refusals are `ApiError`s with the server's Status.
What carries the requests is a `Transport` (in process, or HTTPS).
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.base.errors import ApiError
from volcano.base.http import Request, Response
from volcano.base.limits import LIST_PAGE_OBJECTS
from volcano.client import requests, responses
from volcano.client.requests import PatchBody, PatchType
from volcano.client.responses import WatchEvent
from volcano.client.transport import Transport

__all__ = ["Client", "PatchType", "WatchEvent"]


class Client:
    """Speaks to one API server.

    Args:
        transport: carries requests; closed with the client.
        user_agent: names the component to the server.
        on_warning: is told each `Warning` of an answer, for people.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        user_agent: str = "pyvolcano",
        on_warning: Callable[[str], None] | None = None,
    ) -> None:
        self._transport = transport
        self._user_agent = user_agent
        self._on_warning = on_warning

    async def get(self, kind: Kind, name: str, namespace: str = "") -> JsonObject:
        """One object; `ApiError` with reason NotFound if there is none."""
        return await self._object(requests.get(kind, name, namespace))

    async def list(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
    ) -> JsonObject:
        """The complete List object, pages put together; items carry apiVersion and kind.

        A list whose `continue` token expires on the way is read again once, unpaged.
        """
        selectors = {"label_selector": label_selector, "field_selector": field_selector}
        try:
            return await self._list(
                kind,
                namespace,
                **selectors,
                resource_version=resource_version,
                limit=LIST_PAGE_OBJECTS,
            )
        except ApiError as error:
            if error.code != 410 or resource_version not in {"", "0"}:
                raise
        return await self._list(kind, namespace, **selectors, resource_version="", limit=0)

    async def _list(self, kind: Kind, namespace: str, **options: Any) -> JsonObject:
        items: list[JsonObject] = []
        token = ""
        while True:
            request = requests.list_page(kind, namespace, **options, continue_token=token)
            page = await self._object(request)
            for item in page.get("items") or ():
                item.setdefault("apiVersion", kind.api_version)
                item.setdefault("kind", kind.kind)
                items.append(item)
            metadata = page.setdefault("metadata", {})
            token = metadata.get("continue") or ""
            if not token:
                metadata.pop("remainingItemCount", None)
                return {**page, "items": items}
            await asyncio.sleep(0)

    async def create(
        self, kind: Kind, obj: JsonObject, namespace: str = "", *, dry_run: bool = False
    ) -> JsonObject:
        """Create an object, by default in the namespace it names; the stored object."""
        return await self._object(requests.create(kind, obj, namespace, dry_run=dry_run))

    async def update(self, kind: Kind, obj: JsonObject, *, subresource: str = "") -> JsonObject:
        """Replace an object; Conflict if its resourceVersion is not the stored one."""
        return await self._object(requests.update(kind, obj, subresource=subresource))

    async def patch(
        self,
        kind: Kind,
        name: str,
        patch: PatchBody,
        namespace: str = "",
        *,
        subresource: str = "",
        patch_type: PatchType = PatchType.MERGE,
        field_manager: str = "",
        force: bool = False,
    ) -> JsonObject:
        """Change an object; a patch that names `metadata.resourceVersion` may answer Conflict."""
        request = requests.patch(
            kind,
            name,
            patch,
            namespace,
            subresource=subresource,
            patch_type=patch_type,
            field_manager=field_manager,
            force=force,
        )
        return await self._object(request)

    async def delete(
        self,
        kind: Kind,
        name: str,
        namespace: str = "",
        *,
        grace_seconds: int | None = None,
        propagation: str = "",
        uid: str = "",
        resource_version: str = "",
    ) -> JsonObject:
        """Delete an object: the object on its way out, or a Status when it is gone."""
        request = requests.delete(
            kind,
            name,
            namespace,
            grace_seconds=grace_seconds,
            propagation=propagation,
            uid=uid,
            resource_version=resource_version,
        )
        return await self._object(request)

    async def delete_collection(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> JsonObject:
        """Delete all objects of a kind that match, in one namespace; the server's answer."""
        request = requests.delete_collection(
            kind, namespace, label_selector=label_selector, field_selector=field_selector
        )
        return await self._object(request)

    async def create_subresource(
        self, kind: Kind, name: str, subresource: str, body: JsonObject, namespace: str = ""
    ) -> JsonObject:
        """Post to a sub-resource (binding, eviction, token); its answer."""
        return await self._object(
            requests.create_subresource(kind, name, subresource, body, namespace)
        )

    async def watch(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        resource_version: str = "",
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int = 0,
    ) -> AsyncGenerator[WatchEvent]:
        """Events after `resource_version`, bookmarks included, until the server ends the watch.

        Take it in `contextlib.aclosing` where the loop may be left early.

        Raises:
            ApiError: Expired or Gone when the version is compacted; other refusals.
        """
        request = requests.watch(
            kind,
            namespace,
            resource_version=resource_version,
            label_selector=label_selector,
            field_selector=field_selector,
            timeout_seconds=timeout_seconds,
        )
        async with (
            aclosing(self.stream(request)) as chunks,
            aclosing(responses.lines_of(chunks)) as lines,
        ):
            async for line in lines:
                yield responses.event_of(line)

    def pod_log(self, name: str, namespace: str, **options: Any) -> AsyncGenerator[bytes]:
        """Chunks of a container's log; options as `requests.pod_log` has them."""
        return self.stream(requests.pod_log(name, namespace, **options))

    async def stream(self, request: Request) -> AsyncGenerator[bytes]:
        """Chunks of an answer's body, as they come.

        Raises:
            ApiError: the server refused.
        """
        response = await self.send(request)
        if response.status >= 400:
            raise responses.refusal_of(response.status, await _body_of(response))
        if response.stream is None:
            yield response.body
            return
        try:
            async for chunk in response.stream:
                yield chunk
        finally:
            await _close(response.stream)

    async def send(self, request: Request) -> Response:
        """The bare answer to a request built elsewhere; a stream in it is the caller's to close."""
        request = request._replace(headers={**request.headers, "user-agent": self._user_agent})
        response = await self._transport.send(request)
        if self._on_warning is not None:
            for warning in response.warnings:
                self._on_warning(warning)
        return response

    async def close(self) -> None:
        """Close the transport."""
        await self._transport.close()

    async def _object(self, request: Request) -> JsonObject:
        response = await self.send(request)
        if response.stream is not None:
            response = response._replace(body=await _body_of(response), stream=None)
        return responses.object_of(response)


async def _body_of(response: Response) -> bytes:
    if response.stream is None:
        return response.body
    try:
        return b"".join([chunk async for chunk in response.stream])
    finally:
        await _close(response.stream)


async def _close(stream: AsyncIterator[bytes]) -> None:
    closing = getattr(stream, "aclose", None)
    if closing is not None:
        await closing()
