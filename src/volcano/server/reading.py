"""get and list: stored bytes, cut to what was asked for, exact at one revision."""

import base64
import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from volcano.api.objects import JsonObject
from volcano.base.clock import Clock
from volcano.base.errors import ApiError
from volcano.base.http import Request, Response
from volcano.server import tables
from volcano.server.refusals import (
    bad_request,
    expired,
    invalid_options,
    not_found,
    too_large_revision,
)
from volcano.server.representation import (
    JSON_HEADERS,
    Representation,
    Shape,
    decode,
    encode,
    metadata_only,
    negotiate,
    object_bytes,
    single,
    to_version,
)
from volcano.server.resources import Resource
from volcano.server.routes import Route, is_true
from volcano.server.schema import causes
from volcano.server.selectors import Selection, selection
from volcano.server.store.log import CompactedError, Row
from volcano.server.store.store import Store

EXACT, NOT_OLDER = "Exact", "NotOlderThan"
_MEDIA_JSON = "application/json"


def representation_of(request: Request) -> Representation:
    """What the request's Accept header asks for."""
    accept = request.headers.get("accept", "")
    if accept in ("", _MEDIA_JSON, "*/*"):
        return _PLAIN
    return negotiate(accept, request.query.get("includeObject", ""))


_PLAIN = Representation()


@dataclass(frozen=True, slots=True)
class Page:
    """Where a list continues: its revision and the `namespace/name` it has come to."""

    revision: int
    start: tuple[str, str]

    def token(self) -> str:
        """The `continue` parameter."""
        content = {
            "v": "meta.k8s.io/v1",
            "rv": self.revision,
            "start": "/".join(self.start) + "\0",
        }
        return base64.urlsafe_b64encode(encode(content)).rstrip(b"=").decode()


def parse_token(text: str) -> Page:
    """Read a `continue` parameter.

    Raises:
        ApiError: BadRequest.
    """
    try:
        content = decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        namespace, _, name = content["start"].removesuffix("\0").rpartition("/")
        return Page(int(content["rv"]), (namespace, name))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise bad_request(f"continue key is not valid: {error}") from error


class Reader:
    """Answers get and list from the store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def get(self, resource: Resource, route: Route, request: Request) -> Response:
        """One object.

        Raises:
            ApiError: NotFound, or a resourceVersion that is still to come.
        """
        version = request.query.get("resourceVersion")
        if version:
            self.check_present(parse_revision(version))
        row = self._store.get(resource.key(route.namespace, route.name))
        if row is None:
            raise not_found(resource.kind, route.name)
        representation = representation_of(request)
        if representation.shape is Shape.OBJECT:
            return Response(200, JSON_HEADERS, object_bytes(resource, row))
        obj = to_version(resource, decode(row.value))
        answer = single(resource, obj, representation, self._clock.now())
        return Response(200, JSON_HEADERS, encode(answer))

    async def collection(self, resource: Resource, route: Route, request: Request) -> Response:
        """A collection, or the page of it asked for.

        Raises:
            ApiError: Expired, Timeout or BadRequest, by the revision asked for.
        """
        query = request.query
        chosen = selection(query, resource.kind, resource.selectable)
        representation = representation_of(request)
        limit = parse_limit(query.get("limit", ""))
        rows, revision, start = await self._rows(resource, route.namespace, query, limit)
        if start is not None:
            rows = rows[bisect.bisect_right(rows, start, key=_place) :]
        page, more = _cut(self._selected(resource, rows, chosen), limit)
        meta: JsonObject = {"resourceVersion": str(revision)}
        if more:
            meta["continue"] = Page(revision, _place(page[-1])).token()
            if chosen.everything:
                meta["remainingItemCount"] = len(rows) - len(page)
        return self._answer(resource, page, meta, representation)

    async def _rows(
        self, resource: Resource, namespace: str, query: Mapping[str, str], limit: int
    ) -> tuple[list[Row], int, tuple[str, str] | None]:
        token = query.get("continue", "")
        version = query.get("resourceVersion", "")
        match = query.get("resourceVersionMatch", "")
        check_match(version, match, continued=bool(token), query=query)
        if token:
            if version not in ("", "0"):
                raise bad_request("specifying resource version is not allowed when using continue")
            page = parse_token(token)
            return await self._continued(resource, namespace, page)
        present = self._store.revision
        if version in ("", "0"):
            return self._store.rows(resource.collection, namespace), present, None
        asked = parse_revision(version)
        self.check_present(asked)
        if match == EXACT or (not match and limit):
            try:
                rows = await self._store.rows_at(resource.collection, namespace, asked)
            except CompactedError as error:
                raise expired(error) from error
            return rows, asked, None
        return self._store.rows(resource.collection, namespace), present, None

    async def _continued(
        self, resource: Resource, namespace: str, page: Page
    ) -> tuple[list[Row], int, tuple[str, str] | None]:
        if page.revision < 0:
            rows = self._store.rows(resource.collection, namespace)
            return rows, self._store.revision, page.start
        self.check_present(page.revision)
        try:
            rows = await self._store.rows_at(resource.collection, namespace, page.revision)
        except CompactedError:
            raise _expired_page(page) from None
        return rows, page.revision, page.start

    def check_present(self, revision: int) -> None:
        """Refuse a revision that is still to come."""
        if revision > self._store.revision:
            raise too_large_revision(revision, self._store.revision)

    def _selected(
        self, resource: Resource, rows: Sequence[Row], chosen: Selection
    ) -> Iterator[Row]:
        if chosen.everything:
            yield from rows
            return
        name = chosen.name
        for row in rows:
            if name and row.key.name != name:
                continue
            if chosen.matches(selectable(resource, self._store, row)):
                yield row

    def _answer(
        self, resource: Resource, rows: list[Row], meta: JsonObject, representation: Representation
    ) -> Response:
        kind = resource.kind
        if representation.shape is Shape.OBJECT:
            head = encode(
                {"kind": kind.list_kind, "apiVersion": kind.api_version, "metadata": meta}
            )
            items = b",".join([object_bytes(resource, row) for row in rows])
            return Response(200, JSON_HEADERS, b'%b,"items":[%b]}' % (head[:-1], items))
        objects = (to_version(resource, decode(row.value)) for row in rows)
        if representation.shape is Shape.METADATA:
            answer: JsonObject = {
                "kind": "PartialObjectMetadataList",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": meta,
                "items": [metadata_only(obj) for obj in objects],
            }
        else:
            answer = tables.table(
                resource.entry,
                objects,
                self._clock.now(),
                include_object=representation.include,
                list_metadata=meta,
            )
        return Response(200, JSON_HEADERS, encode(answer))


def selectable(resource: Resource, store: Store, row: Row) -> JsonObject:
    """A row's object for selectors, in the version asked for; shared, not to be changed."""
    obj = store.decoded(row)
    if resource.converted and obj.get("apiVersion") != resource.kind.api_version:
        return to_version(resource, dict(obj))
    return obj


def _place(row: Row) -> tuple[str, str]:
    return row.key.namespace, row.key.name


def _cut(rows: Iterator[Row], limit: int) -> tuple[list[Row], bool]:
    if not limit:
        return list(rows), False
    page: list[Row] = []
    for row in rows:
        if len(page) == limit:
            return page, True
        page.append(row)
    return page, False


def parse_revision(text: str) -> int:
    """A resourceVersion as a number.

    Raises:
        ApiError: BadRequest.
    """
    if not text.isdecimal() or not text.isascii():
        raise bad_request(
            f'Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return int(text)


def parse_limit(text: str) -> int:
    """The `limit` parameter; 0 for none.

    Raises:
        ApiError: BadRequest.
    """
    try:
        return max(0, int(text)) if text else 0
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def check_match(
    version: str, match: str, *, continued: bool, query: Mapping[str, str], watching: bool = False
) -> None:
    """Refuse combinations of list options that make no sense, as Kubernetes does.

    Raises:
        ApiError: Invalid.
    """
    wrong = []
    initial = query.get("sendInitialEvents")
    if initial is not None and not watching:
        wrong.append(
            causes.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")
        )
    if is_true(initial) and watching and match != NOT_OLDER:
        wrong.append(
            causes.forbidden(
                "resourceVersionMatch",
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            )
        )
    if match and initial is None:
        field = "resourceVersionMatch"
        if watching:
            wrong.append(
                causes.forbidden(
                    field,
                    "resourceVersionMatch is forbidden for watch unless"
                    " sendInitialEvents is provided",
                )
            )
        if not version and not watching:
            wrong.append(
                causes.forbidden(
                    field, "resourceVersionMatch is forbidden unless resourceVersion is provided"
                )
            )
        if continued:
            wrong.append(
                causes.forbidden(
                    field, "resourceVersionMatch is forbidden when continue is provided"
                )
            )
        if match not in (EXACT, NOT_OLDER):
            wrong.append(causes.not_supported(field, match, (EXACT, NOT_OLDER)))
        if match == EXACT and version == "0":
            wrong.append(
                causes.forbidden(
                    field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
                )
            )
    if wrong:
        raise invalid_options("ListOptions", wrong)


def _expired_page(page: Page) -> ApiError:
    message = (
        "The provided continue parameter is too old to display a consistent list result. You can"
        " start a new list without the continue parameter, or use the continue token in this"
        " response to retrieve the remainder of the results. Continuing with the provided token"
        " results in an inconsistent list - objects that were created, modified, or deleted between"
        " the time the first chunk was returned and now may show up in the list."
    )
    status = ApiError("Expired", message).to_status()
    status["metadata"] = {"continue": Page(-1, page.start).token()}
    return ApiError("Expired", message, status=status)
