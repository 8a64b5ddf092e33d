"""create, update, patch and apply: decode, admit, default, validate, store.

Everything from reading the present version to handing the new one to the store happens without a
pause, so that a patch can never lose a race against another write.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from volcano.api.admission import Operation, Review
from volcano.api.objects import JsonObject
from volcano.base.clock import Clock
from volcano.base.errors import ApiError, Cause
from volcano.base.http import Response
from volcano.base.limits import GENERATED_NAME_TRIES, OBJECT_BYTES_MAX
from volcano.server import lifecycle, patch, validation
from volcano.server.admission.chain import Chain
from volcano.server.admission.namespaces import check_create
from volcano.server.calls import Call, WriteOptions, write_options
from volcano.server.reading import representation_of
from volcano.server.refusals import (
    already_exists,
    bad_request,
    conflict,
    invalid,
    not_found,
)
from volcano.server.representation import (
    JSON_HEADERS,
    Shape,
    decode,
    encode,
    single,
    to_stored,
    to_version,
)
from volcano.server.resources import LatestLookup, Resource
from volcano.server.schema import (
    DecodeError,
    cannot_handle,
    copy_json,
    decode_json,
    decode_object,
    decode_yaml,
    strict_error,
)
from volcano.server.store.log import Row, StaleRevisionError
from volcano.server.store.store import Store

_YAML_TYPES = ("application/yaml", "application/x-yaml", "text/yaml")
APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"

Merge = Callable[[JsonObject], JsonObject]
"""Makes the new object from the present one, which it must not change."""


@dataclass(frozen=True, slots=True)
class Present:
    """The version a write builds on, in the version of the request."""

    row: Row
    obj: JsonObject


class Writer:
    """Carries out writes of stored kinds."""

    def __init__(self, store: Store, chain: Chain, clock: Clock) -> None:
        self._store = store
        self._chain = chain
        self._clock = clock
        self._lookup = LatestLookup(store)

    # Create.

    async def create(self, call: Call) -> Response:
        """Answer a POST to a collection."""
        options = write_options(call)
        obj = self.decoded(call, options)
        value = await self.insert(call, options, obj)
        return self.answer(call, 201, value)

    async def insert(self, call: Call, options: WriteOptions, obj: JsonObject) -> bytes:
        """Create a decoded and pruned object; the stored bytes.

        Raises:
            ApiError: any refusal on the way.
        """
        kind, route = call.resource.kind, call.route
        meta = obj["metadata"]
        if meta.get("resourceVersion"):
            raise bad_request("resourceVersion should not be set on objects to be created")
        prefix = "" if meta.get("name") else str(meta.get("generateName") or "")
        for _ in range(GENERATED_NAME_TRIES if prefix else 1):
            if prefix:
                meta["name"] = lifecycle.generated_name(prefix)
            name = str(meta.get("name") or "")
            key = call.resource.key(route.namespace, name)
            if self._store.latest(key) is None or not prefix:
                break
        if kind.namespaced:
            check_create(kind, route.namespace, name, self._lookup)
        lifecycle.prepare_create(call.resource, obj, route.namespace, self._clock.now())
        obj = self._admitted(call, options, obj, None)
        if self._store.latest(key) is not None:
            raise already_exists(kind, name)
        return await self._save(call, key_name=name, expected=0, obj=obj, options=options)

    # Update and patch.

    async def update(self, call: Call) -> Response:
        """Answer a PUT to an object or its status."""
        options = write_options(call)
        obj = self.decoded(call, options)
        name = obj["metadata"].get("name")
        if name != call.route.name:
            raise bad_request(
                f"the name of the object ({name or ''}) does not match the name on the URL"
                f" ({call.route.name})"
            )
        present = self.present(call)
        if call.resource.custom and not obj["metadata"].get("resourceVersion"):
            cause = Cause(
                "FieldValueInvalid",
                "Invalid value: 0: must be specified for an update",
                "metadata.resourceVersion",
            )
            raise invalid(call.resource.kind, call.route.name, [cause])
        return self.answer(call, 200, await self.replace(call, options, present, obj))

    async def patch(self, call: Call) -> Response:
        """Answer a PATCH, by its content type."""
        content_type = _content_type(call)
        options = write_options(call)
        if content_type == APPLY:
            return await self._apply(call, options)
        merge = self._merge(call, content_type)
        present = self.present(call)
        new = merge(present.obj)
        self._conform_patched(call, options, new)
        self._check_identity(call, new)
        return self.answer(call, 200, await self.replace(call, options, present, new))

    def present(self, call: Call) -> Present:
        """The newest version of the object named by the request.

        Raises:
            ApiError: NotFound.
        """
        row = self._store.latest(call.resource.key(call.route.namespace, call.route.name))
        if row is None:
            raise not_found(call.resource.kind, call.route.name)
        return Present(row, to_version(call.resource, decode(row.value)))

    async def replace(
        self, call: Call, options: WriteOptions, present: Present, new: JsonObject
    ) -> bytes:
        """Store `new`, decoded and pruned, in place of `present`; the stored bytes.

        Raises:
            ApiError: any refusal on the way.
        """
        kind, name = call.resource.kind, call.route.name
        old, meta = present.obj, new["metadata"]
        asked = meta.get("resourceVersion")
        if asked and asked != str(present.row.revision):
            raise conflict(kind, name)
        uid = meta.get("uid")
        if uid and uid != old["metadata"].get("uid"):
            raise conflict(
                kind,
                name,
                f"Precondition failed: UID in precondition: {uid}, UID in object meta:"
                f" {old['metadata'].get('uid')}",
            )
        subresource = call.route.subresource
        new = lifecycle.prepare_update(call.resource, new, old, subresource)
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        new = self._admitted(call, options, new, old)
        lifecycle.count_generation(call.resource, new, old)
        if new == old:
            return encode(old)
        return await self._save(
            call, key_name=name, expected=present.row.revision, obj=new, options=options
        )

    def _admitted(
        self, call: Call, options: WriteOptions, obj: JsonObject, old: JsonObject | None
    ) -> JsonObject:
        """Default, admit, record who owns what, validate: the object as it will be stored."""
        resource, route = call.resource, call.route
        self._default(resource, obj)
        if not call.applied:
            # Before admission: what checks add belongs to nobody, as in Kubernetes.
            self._track(call, options, obj, old)
        operation: Operation = "CREATE" if old is None else "UPDATE"
        review = Review(
            operation=operation,
            kind=resource.kind,
            namespace=route.namespace,
            name=str(obj["metadata"].get("name") or ""),
            obj=obj,
            old=old,
            user=call.user,
            subresource=route.subresource,
            dry_run=options.dry_run,
        )
        mutated = self._chain.mutate(review, call.warnings)
        if mutated is not review:
            assert mutated.obj is not None
            review, obj = mutated, mutated.obj
            obj["metadata"] = dict(obj["metadata"])
        wrong = self._problems(call, obj, old)
        if wrong:
            raise invalid(resource.kind, review.name, wrong)
        self._chain.validate(review, call.warnings)
        return obj

    def _default(self, resource: Resource, obj: JsonObject) -> None:
        if resource.custom:
            resource.schema.apply_defaults(obj)
        else:
            validation.apply_defaults(resource.kind, obj)

    def _track(
        self, call: Call, options: WriteOptions, obj: JsonObject, old: JsonObject | None
    ) -> None:
        resource, subresource = call.resource, call.route.subresource
        patch.track_update(
            old,
            obj,
            options.manager,
            schema=resource.schema,
            now=self._clock.now(),
            subresource=subresource,
            reset=patch.reset_fields(resource.kind, subresource, custom=resource.custom),
        )

    def _problems(self, call: Call, obj: JsonObject, old: JsonObject | None) -> list[Cause]:
        resource = call.resource
        if old is None:
            found = list(validation.validate_create(resource.kind, obj))
        else:
            found = list(
                validation.validate_update(resource.kind, obj, old, call.route.subresource)
            )
        if resource.custom:
            found += resource.schema.validate(obj)
        return found

    async def _save(
        self, call: Call, *, key_name: str, expected: int, obj: JsonObject, options: WriteOptions
    ) -> bytes:
        """Store the object, or remove it when its deletion was only waiting for this write."""
        resource = call.resource
        meta = obj["metadata"]
        if options.dry_run:
            return encode(obj)
        key = resource.key(call.route.namespace, key_name)
        to_store = to_stored(resource, obj)
        encode_at = partial(encoded_at, to_store)
        done = expected and not meta.get("finalizers") and _deletion_due(resource, obj)
        try:
            write = self._store.delete if done else self._store.put
            row = await write(key, expected, encode_at)
        except StaleRevisionError:
            raise conflict(resource.kind, key_name) from None
        return encode(to_version(resource, obj)) if resource.converted else row.value

    # Patches.

    def _merge(self, call: Call, content_type: str) -> Merge:
        """How a patch of this type changes an object."""
        schema = call.resource.schema
        accepted = [JSON_PATCH, MERGE_PATCH, APPLY]
        if not call.resource.custom:
            accepted.append(STRATEGIC)
        if content_type not in accepted:
            raise ApiError(
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include:"
                f" {', '.join(sorted(accepted))}",
            )
        body = self._patch_body(call)
        if content_type == JSON_PATCH:
            return lambda obj: patch.json_patch(obj, body)
        if content_type == MERGE_PATCH:
            return lambda obj: patch.merge_patch(obj, body)
        return lambda obj: patch.strategic_merge(obj, body, schema)

    def _patch_body(self, call: Call) -> object:
        try:
            value, duplicates = decode_json(call.request.body)
        except DecodeError as error:
            raise bad_request(f"error decoding patch: {error}") from error
        call.problems.extend(duplicates)
        return value

    def _conform_patched(self, call: Call, options: WriteOptions, new: JsonObject) -> None:
        """Drop unknown fields of a patched object, as `fieldValidation` says."""
        shown = call.request.body.decode(errors="replace")
        if not isinstance(new.get("metadata"), dict):
            raise patch.patched_invalid(shown, "metadata must be an object")
        try:
            call.problems.extend(call.resource.schema.prune(new))
        except DecodeError as error:
            raise patch.patched_invalid(shown, str(error)) from error
        if not call.problems:
            return
        if options.validation == "Strict":
            raise patch.patched_invalid(shown, strict_error(call.problems))
        if options.validation == "Warn":
            call.warnings.extend(call.problems)

    async def _apply(self, call: Call, options: WriteOptions) -> Response:
        """Server-side apply: creates what is not there."""
        config = self._apply_config(call, options)
        row = self._store.latest(call.resource.key(call.route.namespace, call.route.name))
        live = to_version(call.resource, decode(row.value)) if row is not None else None
        if live is None and call.route.subresource:
            raise not_found(call.resource.kind, call.route.name)
        resource, subresource = call.resource, call.route.subresource
        wanted_uid = config["metadata"].get("uid")
        if live is None and wanted_uid:
            raise conflict(
                resource.kind,
                call.route.name,
                f"uid mismatch: the provided object specified uid {wanted_uid}, and no existing"
                " object was found",
            )
        merged = patch.apply(
            live,
            config,
            options.manager if options.manager_given else "",
            schema=resource.schema,
            now=self._clock.now(),
            force=options.force,
            subresource=subresource,
            reset=patch.reset_fields(resource.kind, subresource, custom=resource.custom),
        )
        call.applied = True
        if row is None or live is None:
            return self.answer(call, 201, await self.insert(call, options, merged))
        present = Present(row, live)
        return self.answer(call, 200, await self.replace(call, options, present, merged))

    def _apply_config(self, call: Call, options: WriteOptions) -> JsonObject:
        kind = call.resource.kind
        try:
            config, duplicates = decode_yaml(call.request.body)
        except DecodeError as error:
            raise bad_request(f"error decoding YAML: {error}") from error
        if not isinstance(config, dict) or not isinstance(config.setdefault("metadata", {}), dict):
            raise bad_request("the applied configuration must be an object with metadata")
        config.setdefault("apiVersion", kind.api_version)
        config.setdefault("kind", kind.kind)
        config["metadata"].setdefault("name", call.route.name)
        try:
            call.problems.extend([*duplicates, *call.resource.schema.prune(copy_json(config))])
        except DecodeError as error:
            raise cannot_handle(kind.kind, kind.version, str(error)) from error
        if call.problems:
            self._heed_problems(call, options)
            call.resource.schema.prune(config)
        self._check_identity(call, config)
        return config

    # Bodies and answers.

    def decoded(self, call: Call, options: WriteOptions) -> JsonObject:
        """The object in the body, unknown fields dropped as `fieldValidation` says.

        Raises:
            ApiError: BadRequest or UnsupportedMediaType.
        """
        kind = call.resource.kind
        content_type = _content_type(call)
        yaml_body = content_type in _YAML_TYPES
        if not yaml_body and content_type not in ("application/json", ""):
            raise ApiError(
                "UnsupportedMediaType",
                "the body of the request was in an unknown format - accepted media types include:"
                " application/json, application/yaml",
            )
        obj, duplicates = decode_object(call.request.body, kind.kind, yaml_body=yaml_body)
        obj.setdefault("apiVersion", kind.api_version)
        obj.setdefault("kind", kind.kind)
        if obj.get("metadata") is None:
            obj["metadata"] = {}
        try:
            unknown = call.resource.schema.prune(obj)
        except DecodeError as error:
            raise cannot_handle(kind.kind, kind.version, str(error)) from error
        if unknown or duplicates:
            call.problems = [*duplicates, *unknown]
            self._heed_problems(call, options)
        self._check_identity(call, obj)
        return obj

    def _heed_problems(self, call: Call, options: WriteOptions) -> None:
        kind = call.resource.kind
        if options.validation == "Strict":
            raise cannot_handle(kind.kind, kind.version, strict_error(call.problems))
        if options.validation == "Warn":
            call.warnings.extend(call.problems)

    def _check_identity(self, call: Call, obj: JsonObject) -> None:
        """The body must be about what the URL names."""
        kind, route = call.resource.kind, call.route
        if obj.get("apiVersion") != kind.api_version:
            raise bad_request(
                f"the API version in the data ({obj.get('apiVersion')}) does not match the"
                f" expected API version ({kind.api_version})"
            )
        if obj.get("kind") != kind.kind:
            raise cannot_handle(
                str(obj.get("kind")), kind.version, f"this path takes objects of kind {kind.kind}"
            )
        meta = obj["metadata"]
        if kind.namespaced:
            namespace = meta.get("namespace")
            if namespace and namespace != route.namespace:
                raise bad_request(
                    "the namespace of the provided object does not match the namespace sent on"
                    " the request"
                )
            meta["namespace"] = route.namespace
        if route.name and meta.get("name") not in (route.name, None, ""):
            raise bad_request(
                f"the name of the object ({meta['name']}) does not match the name on the URL"
                f" ({route.name})"
            )

    def answer(self, call: Call, status: int, value: bytes) -> Response:
        """The written object in the representation asked for."""
        representation = representation_of(call.request)
        if representation.shape is not Shape.OBJECT:
            obj = decode(value)
            value = encode(single(call.resource, obj, representation, self._clock.now()))
        return Response(status, JSON_HEADERS, value)


def encoded_at(obj: JsonObject, revision: int) -> bytes:
    """An object's bytes at a revision.

    Raises:
        ApiError: RequestEntityTooLarge.
    """
    obj["metadata"]["resourceVersion"] = str(revision)
    value = encode(obj)
    if len(value) > OBJECT_BYTES_MAX:
        raise ApiError(
            "RequestEntityTooLarge",
            f"the object is {len(value)} bytes long; at most {OBJECT_BYTES_MAX} can be stored",
        )
    return value


def _deletion_due(resource: Resource, obj: JsonObject) -> bool:
    """Whether nothing but finalizers held back a deletion that has been asked for."""
    meta = obj["metadata"]
    if "deletionTimestamp" not in meta or meta.get("deletionGracePeriodSeconds"):
        return False
    return not (resource.kind.kind == "Namespace" and (obj.get("spec") or {}).get("finalizers"))


def _content_type(call: Call) -> str:
    return call.request.headers.get("content-type", "").partition(";")[0].strip().lower()
