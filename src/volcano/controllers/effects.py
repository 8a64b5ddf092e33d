"""What a controller wants done: effects as plain values, and the applier that does them.

Reconciling functions are pure: they look at observed objects and return effects. Only `Applier`
speaks to the API; it puts every answer back into the informers, so that the next look at the
world already holds these deeds.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from volcano.api.kinds import POD, Kind
from volcano.api.objects import JsonObject, controller_of, key_of, metadata, name_of, namespace_of
from volcano.api.wellknown import CONTROLLER_OUT_OF_SYNC
from volcano.base.errors import ApiError, VolcanoError
from volcano.base.limits import CONTROLLER_REQUESTS_IN_FLIGHT
from volcano.client.client import Client, PatchType
from volcano.client.events import EventRecorder
from volcano.client.informer import Informer

_SHOWN_ERRORS = 3
_BUILT_PER_SLICE = 16


@dataclass(frozen=True, slots=True)
class Create:
    """Create an object; one of that name with the same controller counts as created.

    Attributes:
        about: the object that a Warning event about a refusal is for, with this `reason`.
    """

    kind: Kind
    obj: JsonObject
    about: JsonObject | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ensure:
    """Create an object, or bring the named fields of ours to the wanted values.

    Attributes:
        fields: top-level fields that are compared and patched, such as `data`.
        about: as for `Create`.
    """

    kind: Kind
    obj: JsonObject
    fields: tuple[str, ...] = ()
    about: JsonObject | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CreateMany:
    """Create objects of one kind side by side; they are built only when their turn comes.

    Attributes:
        about: the object that Warning `FailedCreate` events are about.
    """

    kind: Kind
    objects: Iterable[JsonObject]
    about: JsonObject


@dataclass(frozen=True, slots=True)
class Patch:
    """Merge-patch an object; `resource_version` makes it fail when the object has moved on."""

    kind: Kind
    namespace: str
    name: str
    patch: JsonObject
    subresource: str = ""
    resource_version: str = ""
    field_manager: str = ""
    missing_ok: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete an object; it is fine when it, or the one with that uid, is gone already."""

    kind: Kind
    namespace: str
    name: str
    uid: str = ""
    grace_seconds: int | None = None
    propagation: str = ""


@dataclass(frozen=True, slots=True)
class RemovePods:
    """Mark pods as removed on purpose, so that nobody takes it for an eviction, and delete them.

    Attributes:
        pods: name and uid of each.
        about: the object that Warning `FailedDelete` events are about.
    """

    namespace: str
    pods: tuple[tuple[str, str], ...]
    about: JsonObject


@dataclass(frozen=True, slots=True)
class Record:
    """Record an Event about an object."""

    obj: JsonObject
    type: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Requeue:
    """Look again after so many seconds."""

    seconds: float


Effect = Create | Ensure | CreateMany | Patch | Delete | RemovePods | Record | Requeue


class EffectsError(VolcanoError):
    """Some of many requests failed; the text counts them and shows the first.

    Attributes:
        refused: every failure was a lasting refusal (4xx but for conflicts and throttling).
    """

    def __init__(self, what: str, errors: list[ApiError], total: int) -> None:
        shown = "; ".join(error.message for error in errors[:_SHOWN_ERRORS])
        super().__init__(f"failed to {what}, {len(errors)} of {total}: {shown}")
        self.refused = all(is_refusal(error) for error in errors)


def is_refusal(error: ApiError) -> bool:
    """Whether asking the same again will most likely be refused again."""
    return 400 <= error.code < 500 and error.code not in {401, 404, 409, 410, 429}


def merge_diff(old: Mapping[str, Any], new: Mapping[str, Any]) -> JsonObject:
    """The JSON merge patch that turns `old` into `new`; empty when they are equal."""
    patch: JsonObject = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            inner = merge_diff(before, value)
            if inner:
                patch[key] = inner
        elif key not in old or before != value:
            patch[key] = value
    return patch


@dataclass(slots=True)
class Applier:
    """Does effects in order; the first that fails ends the list with its error.

    Attributes:
        informers: take in the answers, by kind.
        ensured: what `Ensure` has seen in place, so that it does not ask again every time.
    """

    client: Client
    recorder: EventRecorder
    informers: Mapping[Kind, Informer]
    requeue: Callable[[str, float], None]
    ensured: dict[tuple[str, str, str], JsonObject] = field(default_factory=dict)

    async def apply(self, key: str, effects: Iterable[Effect]) -> None:
        """Do the effects that reconciling `key` asked for.

        Raises:
            ApiError: a request was refused.
            EffectsError: some of many requests were.
        """
        for effect in effects:
            await self._one(key, effect)

    async def _one(self, key: str, effect: Effect) -> None:
        match effect:
            case Create() | Ensure():
                await self._create_or_ensure(effect)
            case CreateMany():
                await self._create_many(effect)
            case Patch():
                await self._patch(effect)
            case Delete():
                await self._delete(effect)
            case RemovePods():
                await self._remove_pods(effect)
            case Record():
                self.recorder.event(effect.obj, effect.type, effect.reason, effect.message)
            case Requeue():
                self.requeue(key, effect.seconds)

    async def _create_or_ensure(self, effect: Create | Ensure) -> None:
        try:
            if isinstance(effect, Create):
                await self._create(effect.kind, effect.obj)
            else:
                await self._ensure(effect)
        except ApiError as error:
            if effect.about is not None:
                text = f"Failed to create {effect.kind.kind}, err: {error.message}"
                self.recorder.event(effect.about, "Warning", effect.reason, text)
            raise

    async def _create(self, kind: Kind, obj: JsonObject) -> None:
        try:
            self.note(kind, await self.client.create(kind, obj))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            self.note(kind, await self._ours(kind, obj, error))

    async def _ours(self, kind: Kind, wanted: JsonObject, error: ApiError) -> JsonObject:
        """The object in the way of `wanted`, if it has the same controller."""
        stored = await self.client.get(kind, name_of(wanted), namespace_of(wanted))
        mine, theirs = controller_of(wanted), controller_of(stored)
        if (mine or {}).get("uid") == (theirs or {}).get("uid"):
            return stored
        owner = f"{theirs['kind']} {theirs['name']}" if theirs else "nobody we know"
        message = (
            f"{kind.kind} {key_of(wanted)} exists already and belongs to {owner}; "
            "it has to go before ours can be created"
        )
        raise ApiError("Conflict", message) from error

    async def _ensure(self, effect: Ensure) -> None:
        slot = (effect.kind.resource, namespace_of(effect.obj), name_of(effect.obj))
        if self.ensured.get(slot) == effect.obj:
            return
        try:
            await self.client.create(effect.kind, effect.obj)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            stored = await self._ours(effect.kind, effect.obj, error)
            patch = {
                name: effect.obj[name] if not isinstance(effect.obj[name], dict) else diff
                for name in effect.fields
                if (diff := merge_diff(stored.get(name) or {}, effect.obj[name]))
            }
            if patch:
                await self.client.patch(effect.kind, slot[2], patch, slot[1])
        self.ensured[slot] = effect.obj

    async def _create_many(self, effect: CreateMany) -> None:
        batch = _Batch()
        for count, obj in enumerate(effect.objects, start=1):
            await batch.start(self._create(effect.kind, obj))
            if count % _BUILT_PER_SLICE == 0:
                await asyncio.sleep(0)
        await batch.finish()
        self._report(effect.about, "FailedCreate", "creating", "create", batch)

    async def _remove_pods(self, effect: RemovePods) -> None:
        batch = _Batch()
        for name, uid in effect.pods:
            await batch.start(self._remove_pod(effect.namespace, name, uid))
        await batch.finish()
        self._report(effect.about, "FailedDelete", "deleting", "delete", batch)

    def _report(
        self, about: JsonObject, reason: str, doing: str, verb: str, batch: "_Batch"
    ) -> None:
        if not batch.errors:
            return
        failure = EffectsError(f"{verb} pods", batch.errors, batch.started)
        self.recorder.event(about, "Warning", reason, f"Error {doing} pods: {failure.public}")
        raise failure

    async def _remove_pod(self, namespace: str, name: str, uid: str) -> None:
        mark = {"metadata": {"uid": uid, "annotations": {CONTROLLER_OUT_OF_SYNC: "true"}}}
        try:
            self.note(POD, await self.client.patch(POD, name, mark, namespace))
            gone = await self.client.delete(POD, name, namespace, uid=uid)
        except ApiError as error:
            if error.reason != "NotFound" and not _of_another_uid(error):
                raise
            return
        if gone.get("kind") == "Pod":
            self.note(POD, gone)

    async def _patch(self, effect: Patch) -> None:
        body = effect.patch
        if effect.resource_version:
            meta = {**body.get("metadata", {}), "resourceVersion": effect.resource_version}
            body = {**body, "metadata": meta}
        try:
            written = await self.client.patch(
                effect.kind,
                effect.name,
                body,
                effect.namespace,
                subresource=effect.subresource,
                patch_type=PatchType.MERGE,
                field_manager=effect.field_manager,
            )
        except ApiError as error:
            if error.reason == "NotFound" and effect.missing_ok:
                return
            raise
        self.note(effect.kind, written)

    async def _delete(self, effect: Delete) -> None:
        self.ensured.pop((effect.kind.resource, effect.namespace, effect.name), None)
        try:
            gone = await self.client.delete(
                effect.kind,
                effect.name,
                effect.namespace,
                grace_seconds=effect.grace_seconds,
                propagation=effect.propagation,
                uid=effect.uid,
            )
        except ApiError as error:
            if error.reason != "NotFound" and not (effect.uid and _of_another_uid(error)):
                raise
            return
        informer = self.informers.get(effect.kind)
        if gone.get("kind") == effect.kind.kind and metadata(gone).get("deletionTimestamp"):
            self.note(effect.kind, gone)
        elif informer is not None:
            namespaced = f"{effect.namespace}/{effect.name}" if effect.namespace else effect.name
            informer.note_removed(namespaced, effect.uid)

    def forget_owned_by(self, uid: str) -> None:
        """Forget what was ensured for an owner that is gone."""
        for slot, obj in list(self.ensured.items()):
            if (controller_of(obj) or {}).get("uid") == uid:
                del self.ensured[slot]

    def note(self, kind: Kind, obj: JsonObject) -> None:
        """Let the informer of this kind, if there is one, take in what was written."""
        informer = self.informers.get(kind)
        if informer is not None:
            informer.note_written(obj)


def _of_another_uid(error: ApiError) -> bool:
    """Whether a request failed because the object of that name is not the one meant."""
    return error.reason == "Conflict" and "uid" in error.message.lower()


class _Batch:
    """Requests side by side, a bounded number at a time; refusals are gathered."""

    def __init__(self) -> None:
        self.errors: list[ApiError] = []
        self.started = 0
        self._free = asyncio.Semaphore(CONTROLLER_REQUESTS_IN_FLIGHT)
        self._running: set[asyncio.Task[None]] = set()

    async def start(self, request: Coroutine[Any, Any, None]) -> None:
        """Begin a request as soon as one of the slots is free."""
        try:
            await self._free.acquire()
        except asyncio.CancelledError:
            request.close()
            self._cancel()
            raise
        self.started += 1
        task = asyncio.get_running_loop().create_task(self._run(request))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def finish(self) -> None:
        """Wait for all requests; an unexpected exception of one is raised."""
        try:
            await asyncio.gather(*self._running)
        finally:
            self._cancel()

    async def _run(self, request: Coroutine[Any, Any, None]) -> None:
        try:
            await request
        except ApiError as error:
            self.errors.append(error)
        finally:
            self._free.release()

    def _cancel(self) -> None:
        for task in self._running:
            task.cancel()
