"""OpenAPI v2 from v3: one document for old clients that cannot read v3.

In JSON only. As protobuf there is the head of the document, without paths and definitions: kubectl
asks for it when v3 does not know a kind, and goes on to say so only if there is an answer.

What v2 cannot say (alternatives of types) becomes what Kubernetes writes there: quantities and
numbers-or-names are strings with a format.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from volcano.api.objects import JsonObject
from volcano.server.openapi.schemas import PREFIX


def swagger(documents: Iterable[JsonObject], info: JsonObject) -> JsonObject:
    """The v2 document that holds all paths and schemas of some v3 documents."""
    paths: JsonObject = {}
    definitions: JsonObject = {}
    for document in documents:
        for name, schema in document["components"]["schemas"].items():
            definitions[name] = _schema(schema)
        for path, item in document["paths"].items():
            paths[path] = _item(item)
    return {
        "swagger": "2.0",
        "info": info,
        "paths": dict(sorted(paths.items())),
        "definitions": dict(sorted(definitions.items())),
    }


def protobuf_head(info: Mapping[str, str]) -> bytes:
    """The head as a message `openapi.v2.Document` (github.com/google/gnostic)."""
    title_and_version = _text_field(1, info["title"]) + _text_field(2, info["version"])
    return _text_field(1, "2.0") + _bytes_field(2, title_and_version)


def _text_field(number: int, text: str) -> bytes:
    return _bytes_field(number, text.encode())


def _bytes_field(number: int, value: bytes) -> bytes:
    # One byte each for tag and length: titles and versions are short.
    return bytes([number << 3 | 2, len(value)]) + value


def _item(item: JsonObject) -> JsonObject:
    converted: JsonObject = {}
    for method, operation in item.items():
        if method == "parameters":
            converted[method] = [_parameter(parameter) for parameter in operation]
        else:
            converted[method] = _operation(operation)
    return converted


def _operation(operation: JsonObject) -> JsonObject:
    converted = {key: value for key, value in operation.items() if key.startswith("x-")}
    converted["tags"] = operation["tags"]
    converted["produces"] = ["application/json"]
    parameters = [_parameter(parameter) for parameter in operation.get("parameters", ())]
    body = operation.get("requestBody")
    if body:
        content = body["content"]
        converted["consumes"] = list(content)
        schema = _schema(next(iter(content.values()))["schema"])
        parameters.append(
            {"name": "body", "in": "body", "schema": schema, "required": "required" in body}
        )
    else:
        converted["consumes"] = ["*/*"]
    if parameters:
        converted["parameters"] = parameters
    converted["responses"] = {
        code: _response(response) for code, response in operation["responses"].items()
    }
    return converted


def _response(response: JsonObject) -> JsonObject:
    converted: JsonObject = {"description": response["description"]}
    for content in (response.get("content") or {}).values():
        converted["schema"] = _schema(content["schema"])
    return converted


def _parameter(parameter: JsonObject) -> JsonObject:
    converted = {key: value for key, value in parameter.items() if key != "schema"}
    return {**converted, **parameter["schema"]}


def _schema(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"$ref": schema["$ref"].replace(PREFIX, "#/definitions/")}
    alternatives = {"oneOf", "anyOf"} & schema.keys()
    converted: JsonObject = {}
    for key, value in schema.items():
        if key in alternatives or key in ("allOf", "not", "nullable"):
            continue
        if key == "properties":
            converted[key] = {name: _schema(one) for name, one in value.items()}
        elif key in ("items", "additionalProperties"):
            converted[key] = _schema(value)
        else:
            converted[key] = value
    whole: list[JsonObject] = schema.get("allOf") or []
    if len(whole) == 1 and "$ref" in whole[0]:
        converted.update(_schema(whole[0]))
    if alternatives and "type" not in converted and "properties" not in converted:
        converted["type"] = "string"
    return converted
