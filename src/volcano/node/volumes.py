"""Volumes of pods on a process node: their contents in the pod's folder, and where they appear.

Two steps. `plan_volumes` is pure: from the pod and the objects it names it makes the list of files
of each volume (configMap, secret, downwardAPI, projected), the directory of an emptyDir, or the
place of a hostPath. `Mount`s then say what appears where in a container; `enter.py` puts them there
in a mount namespace of the container.

Where the node may not make namespaces, absolute mount paths cannot exist: the same tree is then
offered as symbolic links below `$VOLCANO_MOUNTS` (`$VOLCANO_MOUNTS/etc/config` for `/etc/config`),
and an event says so. Contents are those of the time of the start; only service account tokens are
renewed. sizeLimit, medium and defaultMode's group semantics (fsGroup) are not enforced.
Volumes of other types are refused by name: the container waits and an event says why.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from volcano.api.objects import JsonObject
from volcano.node.environment import (
    CannotStartError,
    Source,
    Surroundings,
    contents_of,
    expand,
    field_value,
    missing_object,
    resource_value,
)
from volcano.node.pods import ContainerSpec, PodSpec

MOUNTS_VARIABLE = "VOLCANO_MOUNTS"
FILE_MODE_DEFAULT = 0o644
SUPPORTED = ("configMap", "secret", "emptyDir", "hostPath", "downwardAPI", "projected")
ROOT_CA_CONFIG_MAP = "kube-root-ca.crt"

Tokens = Callable[[str, int], str | None]
"""(audience, seconds) → a token of the pod's service account; None if it was not asked for."""


@dataclass(frozen=True, slots=True)
class FileContent:
    """One file of a volume: its path in it, its bytes and its mode."""

    path: str
    content: bytes
    mode: int = FILE_MODE_DEFAULT


@dataclass(frozen=True, slots=True)
class VolumePlan:
    """One volume: a directory of the machine, or one in the pod's folder with these files."""

    name: str
    host_path: Path | None = None
    host_type: str = ""
    files: tuple[FileContent, ...] = ()


@dataclass(frozen=True, slots=True)
class Mount:
    """What appears where in a container."""

    source: Path
    target: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class TokenWish:
    """A service account token that a projected volume asks for."""

    audience: str
    seconds: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """What must be read from the API before a pod's containers can be prepared."""

    config_maps: frozenset[str] = field(default_factory=frozenset)
    secrets: frozenset[str] = field(default_factory=frozenset)
    tokens: frozenset[TokenWish] = field(default_factory=frozenset)


def wanted_by(pod: PodSpec) -> Wanted:
    """The configMaps, secrets and tokens that environment and volumes of a pod name."""
    maps: set[str] = set()
    secrets: set[str] = set()
    tokens: set[TokenWish] = set()
    for spec in pod.containers:
        for entry in spec.raw.get("envFrom") or ():
            _note(entry, "configMapRef", "name", maps)
            _note(entry, "secretRef", "name", secrets)
        for entry in spec.raw.get("env") or ():
            origin = entry.get("valueFrom") or {}
            _note(origin, "configMapKeyRef", "name", maps)
            _note(origin, "secretKeyRef", "name", secrets)
    for volume in (pod.raw.get("spec") or {}).get("volumes") or ():
        _note(volume, "configMap", "name", maps)
        _note(volume, "secret", "secretName", secrets)
        for source in (volume.get("projected") or {}).get("sources") or ():
            _note(source, "configMap", "name", maps)
            _note(source, "secret", "name", secrets)
            if "serviceAccountToken" in source:
                tokens.add(_wish(source["serviceAccountToken"]))
    return Wanted(frozenset(maps), frozenset(secrets), frozenset(tokens))


def _note(entry: JsonObject, field_name: str, key: str, names: set[str]) -> None:
    reference = entry.get(field_name)
    if reference and reference.get(key):
        names.add(str(reference[key]))


def _wish(projection: JsonObject) -> TokenWish:
    seconds = projection.get("expirationSeconds")
    return TokenWish(str(projection.get("audience") or ""), int(seconds or 3600))


def plan_volumes(
    pod: PodSpec, around: Surroundings, source: Source, tokens: Tokens
) -> dict[str, VolumePlan]:
    """The pod's volumes by name.

    Raises:
        CannotStartError: a volume of a type that process nodes do not have, or a missing object.
    """
    plans = {}
    for volume in (pod.raw.get("spec") or {}).get("volumes") or ():
        name = str(volume["name"])
        plans[name] = _plan_volume(pod, around, volume, source, tokens)
    return plans


def _plan_volume(
    pod: PodSpec, around: Surroundings, volume: JsonObject, source: Source, tokens: Tokens
) -> VolumePlan:
    name = str(volume["name"])
    if "hostPath" in volume:
        host = volume["hostPath"]
        return VolumePlan(name, Path(host["path"]), str(host.get("type") or ""))
    if "configMap" in volume or "secret" in volume or "downwardAPI" in volume:
        files = _files(pod, around, volume, source, tokens, name_key="secretName")
        return VolumePlan(name, files=tuple(files))
    if "projected" in volume:
        projected = volume["projected"]
        mode = projected.get("defaultMode") or FILE_MODE_DEFAULT
        found: dict[str, FileContent] = {}
        for part in projected.get("sources") or ():
            with_mode = {k: {"defaultMode": mode, **(v or {})} for k, v in part.items()}
            for file in _files(pod, around, with_mode, source, tokens, name_key="name"):
                found[file.path] = file
        return VolumePlan(name, files=tuple(found.values()))
    kinds = [key for key in volume if key != "name"]
    if "emptyDir" in volume or not kinds:
        return VolumePlan(name)
    raise CannotStartError(
        "ContainerCreating",
        f"volume {name} is of type {', '.join(kinds)}, which process nodes cannot mount; "
        f"they can: {', '.join(SUPPORTED)}",
    )


def _files(
    pod: PodSpec,
    around: Surroundings,
    origin: JsonObject,
    source: Source,
    tokens: Tokens,
    *,
    name_key: str,
) -> Iterator[FileContent]:
    """The files of one source of a volume."""
    if "configMap" in origin:
        yield from _keys("ConfigMap", origin["configMap"], "name", source)
    if "secret" in origin:
        yield from _keys("Secret", origin["secret"], name_key, source)
    if "downwardAPI" in origin:
        yield from _downward(pod, around, origin["downwardAPI"])
    if "serviceAccountToken" in origin:
        projection = origin["serviceAccountToken"]
        wish = _wish(projection)
        token = tokens(wish.audience, wish.seconds)
        if token is None:
            raise CannotStartError("ContainerCreating", "no service account token was issued yet")
        mode = min(int(projection["defaultMode"]), 0o600)
        yield FileContent(str(projection["path"]), token.encode(), mode)
    if "clusterTrustBundle" in origin or "podCertificate" in origin:
        raise CannotStartError(
            "ContainerCreating",
            "a projected volume asks for a clusterTrustBundle or podCertificate, which process "
            "nodes do not have",
        )


def _keys(kind: str, origin: JsonObject, key: str, source: Source) -> Iterator[FileContent]:
    name = str(origin[key])
    mode = int(origin.get("defaultMode") or FILE_MODE_DEFAULT)
    optional = bool(origin.get("optional"))
    obj = source(kind, name)
    if obj is None and not optional:
        raise missing_object(kind, name)
    contents = contents_of(kind, obj)
    items = origin.get("items")
    if items is None:
        items = [{"key": key, "path": key} for key in contents]
    for item in items:
        if item["key"] not in contents:
            if optional:
                continue
            raise CannotStartError(
                "ContainerCreating", f"{kind.lower()} {name} has no key {item['key']}"
            )
        yield FileContent(item["path"], contents[item["key"]], int(item.get("mode") or mode))


def _downward(pod: PodSpec, around: Surroundings, origin: JsonObject) -> Iterator[FileContent]:
    mode = int(origin.get("defaultMode") or FILE_MODE_DEFAULT)
    for item in origin.get("items") or ():
        if "resourceFieldRef" in item:
            text: str | None = resource_value(pod, "", around.node, item["resourceFieldRef"])
        else:
            path = item["fieldRef"]["fieldPath"]
            text = field_value(pod, around.node, around.place, path)
        if text is None:
            raise CannotStartError("ContainerCreating", f"no field {item['fieldRef']} in pods")
        yield FileContent(item["path"], text.encode(), int(item.get("mode") or mode))


def mounts_of(
    spec: ContainerSpec, folder: Path, plans: Mapping[str, VolumePlan], env: Mapping[str, str]
) -> list[Mount]:
    """What appears where in a container.

    Args:
        folder: where the pod's own volumes are.

    Raises:
        CannotStartError: a mount names no volume, or leads out of it.
    """
    mounts = []
    for entry in spec.raw.get("volumeMounts") or ():
        plan = plans.get(entry["name"])
        if plan is None:
            raise CannotStartError(
                "CreateContainerConfigError",
                f"container {spec.name} mounts {entry['name']!r}, which is no volume of the pod",
            )
        base = plan.host_path or folder / plan.name
        inner = str(entry.get("subPath") or expand(str(entry.get("subPathExpr") or ""), env))
        if inner.startswith("/") or ".." in PurePosixPath(inner).parts:
            raise CannotStartError(
                "CreateContainerConfigError",
                f"container {spec.name}: subPath {inner!r} leads out of volume {plan.name}",
            )
        target = "/" + str(entry["mountPath"]).strip("/")
        mounts.append(Mount(base / inner, target, bool(entry.get("readOnly"))))
    return mounts


def write_volume(folder: Path, plan: VolumePlan) -> None:
    """Make a volume's directory and put its files in place, each by a rename. Blocks.

    Raises:
        CannotStartError: a hostPath is not what its type says.
    """
    if plan.host_path is not None:
        _check_host_path(plan)
        return
    root = folder / plan.name
    root.mkdir(parents=True, exist_ok=True)
    if not plan.files:
        root.chmod(0o777)
    for file in plan.files:
        path = root / file.path
        if ".." in PurePosixPath(file.path).parts:
            raise CannotStartError("ContainerCreating", f"path {file.path!r} leads out of a volume")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.new")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, file.mode)
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(file.content)
            os.fchmod(opened.fileno(), file.mode)
        temporary.replace(path)


def _check_host_path(plan: VolumePlan) -> None:
    path = plan.host_path
    assert path is not None, "only hostPath volumes are checked"
    match plan.host_type:
        case "DirectoryOrCreate":
            path.mkdir(parents=True, exist_ok=True)
            holds = path.is_dir()
        case "FileOrCreate":
            path.touch(exist_ok=True)
            holds = path.is_file()
        case "Directory":
            holds = path.is_dir()
        case "File":
            holds = path.is_file()
        case "Socket":
            holds = path.is_socket()
        case _:
            holds = path.exists()
    if not holds:
        kind = plan.host_type or "an existing path"
        raise CannotStartError(
            "ContainerCreating", f"hostPath volume {plan.name}: {path} is not {kind}"
        )


def prepare_sources(mounts: list[Mount], volumes: Path) -> None:
    """Make subPath directories of the pod's own volumes that are not there yet. Blocks."""
    for mount in mounts:
        if not mount.source.exists() and mount.source.is_relative_to(volumes):
            mount.source.mkdir(parents=True)


def link_mounts(mounts: list[Mount], folder: Path) -> None:
    """Offer mounts as symbolic links below a folder, in place of a namespace. Blocks."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for mount in mounts:
        link = folder / mount.target.lstrip("/")
        if mount.target == "/" or any(parent.is_symlink() for parent in link.parents):
            continue
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(mount.source)
