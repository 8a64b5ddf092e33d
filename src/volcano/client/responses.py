"""Reads answers of the API: JSON objects, refusals as `ApiError`, watch streams as events.

The counterpart of `requests`; shared by the asynchronous and the blocking client.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, NamedTuple

from volcano.api.objects import JsonObject
from volcano.base.errors import REASON_CODES, ApiError, Cause, ErrorDetails
from volcano.base.http import Response
from volcano.client import codec
from volcano.client.codec import Decode

_MESSAGE_BYTES_MAX = 1024
_REASON_OF_CODE = {code: reason for reason, code in REASON_CODES.items()} | {
    409: "Conflict",
    410: "Expired",
}


class WatchEvent(NamedTuple):
    """One event of a watch: ADDED, MODIFIED, DELETED or BOOKMARK, and its object."""

    type: str
    object: JsonObject


def object_of(response: Response, decode: Decode = codec.decode) -> JsonObject:
    """The object in an answer.

    Raises:
        ApiError: the answer is a refusal, or no JSON object.
    """
    if response.status >= 400:
        raise refusal_of(response.status, response.body, decode)
    decoded = _json_or_none(response.body, decode)
    if not isinstance(decoded, dict):
        raise ApiError("InternalError", "the server's answer is not a JSON object", code=500)
    return decoded


def refusal_of(code: int, body: bytes, decode: Decode = codec.decode) -> ApiError:
    """The refusal in an answer with an error code; a body that is no Status becomes the message."""
    decoded = _json_or_none(body, decode)
    if isinstance(decoded, dict) and decoded.get("kind") == "Status":
        return error_of_status(decoded, code)
    text = body[:_MESSAGE_BYTES_MAX].decode("utf-8", "replace").strip()
    message = text or f"the server answered with code {code} and no explanation"
    return ApiError(_REASON_OF_CODE.get(code, "InternalError"), message, code=code)


def error_of_status(status: JsonObject, code: int = 0) -> ApiError:
    """An `ApiError` from a `metav1.Status`, which it keeps whole."""
    number = int(status.get("code") or code or 500)
    return ApiError(
        str(status.get("reason") or _REASON_OF_CODE.get(number, "InternalError")),
        str(status.get("message") or ""),
        code=number,
        details=_details_of(status.get("details")),
        status=status,
    )


def _details_of(details: Any) -> ErrorDetails | None:
    if not isinstance(details, dict):
        return None
    causes = [
        Cause(str(item.get("reason", "")), str(item.get("message", "")), str(item.get("field", "")))
        for item in details.get("causes") or ()
    ]
    return ErrorDetails(
        name=str(details.get("name", "")),
        group=str(details.get("group", "")),
        kind=str(details.get("kind", "")),
        uid=str(details.get("uid", "")),
        causes=tuple(causes),
        retry_after_seconds=int(details.get("retryAfterSeconds") or 0),
    )


def _json_or_none(body: bytes, decode: Decode) -> Any:
    try:
        return decode(body)
    except ValueError:
        return None


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """The non-empty lines of a stream, however it is cut into chunks."""
    rest = b""
    async for chunk in chunks:
        if chunk.endswith(b"\n") and not rest:
            pieces = chunk.split(b"\n")
        else:
            pieces = (rest + chunk).split(b"\n")
        rest = pieces.pop()
        for line in pieces:
            if line:
                yield line
    if rest:
        yield rest


def event_of(line: bytes, decode: Decode = codec.decode) -> WatchEvent:
    """One watch event from its line.

    Raises:
        ApiError: the event is an error (Expired, Gone, …), or not readable.
    """
    decoded = _json_or_none(line, decode)
    if not isinstance(decoded, dict) or not isinstance(decoded.get("object"), dict):
        raise ApiError("InternalError", "a watch event from the server is not readable", code=500)
    if decoded.get("type") == "ERROR":
        raise error_of_status(decoded["object"])
    return WatchEvent(str(decoded.get("type", "")), decoded["object"])
