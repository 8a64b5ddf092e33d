"""Request bodies in the protobuf form of Kubernetes, made into JSON before anybody looks at them.

kubectl's typed commands (`auth can-i`, `create clusterrole`, `create token`, …) and client-go's
typed clients send protobuf for built-in kinds and read either; so it is enough to understand it,
and answers stay JSON. Which number is which field is data (`fields.json`, made by
`scripts/protobuf_fields.py` from the API modules); kinds of CRDs are never sent this way.
"""

import msgspec

from volcano.base.errors import ApiError
from volcano.base.http import Request
from volcano.server.protobuf.decode import ProtobufError, decode

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"

__all__ = ["CONTENT_TYPE", "ProtobufError", "decode", "is_protobuf", "with_json_body"]


def is_protobuf(request: Request) -> bool:
    """Whether the body is said to be protobuf."""
    content_type = request.headers.get("content-type", "")
    return content_type.partition(";")[0].strip().lower() == CONTENT_TYPE


def with_json_body(request: Request) -> Request:
    """The same request with its protobuf body as JSON; any other request as it is.

    Raises:
        ApiError: BadRequest for a body that is malformed or of an unknown kind.
    """
    if not is_protobuf(request):
        return request
    headers = {**request.headers, "content-type": "application/json"}
    if not request.body:
        return request._replace(headers=headers)
    try:
        obj = decode(request.body)
    except ProtobufError as error:
        raise ApiError("BadRequest", f"the protobuf body cannot be read: {error}") from error
    return request._replace(headers=headers, body=msgspec.json.encode(obj))
