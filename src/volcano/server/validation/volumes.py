"""Volumes of pods and pod templates."""

from collections.abc import Mapping

from volcano.api.objects import JsonObject
from volcano.base.errors import Cause
from volcano.resources.quantity import parse_quantity
from volcano.server.schema.causes import duplicate, forbidden, invalid, not_supported, required
from volcano.server.validation.containers import descending_path, field_selector, no_backsteps
from volcano.server.validation.texts import dns_label

_FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_HOST_PATH_TYPES = (
    *("", "BlockDevice", "CharDevice", "Directory"),
    *("DirectoryOrCreate", "File", "FileOrCreate", "Socket"),
)
_VOLUME_FIELDS = frozenset(
    {
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
    }
)
_PROJECTIONS = (
    *("secret", "configMap", "downwardAPI", "serviceAccountToken"),
    *("clusterTrustBundle", "podCertificate"),
)


def validate_volumes(
    volumes: list[JsonObject], path: str, out: list[Cause]
) -> Mapping[str, JsonObject]:
    """All volumes of a pod spec; the valid ones by name, for the mounts."""
    by_name: dict[str, JsonObject] = {}
    for index, volume in enumerate(volumes):
        where = f"{path}[{index}]"
        name = volume.get("name", "")
        before = len(out)
        for key in volume:
            if key != "name":
                _source(key, volume[key], where, out)
                break
        else:
            out.append(required(where, "must specify a volume type"))
        if len(volume) > 2 or "name" not in volume:
            _further_sources(volume, where, out)
        if not name:
            out.append(required(f"{where}.name"))
        else:
            problems = dns_label(name)
            if problems:
                out += [invalid(f"{where}.name", name, problem) for problem in problems]
        if name in by_name:
            out.append(duplicate(f"{where}.name", name))
        if len(out) == before:
            by_name[name] = volume
    return by_name


def _further_sources(volume: JsonObject, path: str, out: list[Cause]) -> None:
    detail = "may not specify more than 1 volume type"
    given = [key for key in volume if key != "name"]
    out += [forbidden(f"{path}.{extra}", detail) for extra in given[1:]]


def _source(kind: str, source: JsonObject, path: str, out: list[Cause]) -> None:
    where = f"{path}.{kind}"
    match kind:
        case "emptyDir":
            limit = source.get("sizeLimit")
            if limit is not None and parse_quantity(limit).nano < 0:
                detail = "SizeLimit field must be a valid resource quantity"
                out.append(forbidden(f"{where}.sizeLimit", detail))
        case "hostPath":
            _host_path(source, where, out)
        case "configMap":
            _files(source, where, "name", out)
        case "secret":
            _files(source, where, "secretName", out)
        case "persistentVolumeClaim":
            if not source.get("claimName"):
                out.append(required(f"{where}.claimName"))
        case "downwardAPI":
            _mode(source, "defaultMode", where, out)
            _downward(source.get("items") or [], where, out)
        case "projected":
            _projected(source, where, out)
        case "nfs":
            _nfs(source, where, out)


def _host_path(source: JsonObject, path: str, out: list[Cause]) -> None:
    if not source.get("path"):
        out.append(required(f"{path}.path"))
        return
    no_backsteps(source["path"], f"{path}.path", out)
    kind = source.get("type", "")
    if kind not in _HOST_PATH_TYPES:
        out.append(not_supported(f"{path}.type", kind, sorted(_HOST_PATH_TYPES)))


def _nfs(source: JsonObject, path: str, out: list[Cause]) -> None:
    out += [required(f"{path}.{key}") for key in ("server", "path") if not source.get(key)]
    if not source.get("path", "/").startswith("/"):
        out.append(invalid(f"{path}.path", source["path"], "must be an absolute path"))


def _files(source: JsonObject, path: str, name_key: str, out: list[Cause]) -> None:
    if not source.get(name_key):
        out.append(required(f"{path}.{name_key}"))
    _mode(source, "defaultMode", path, out)
    for index, item in enumerate(source.get("items") or ()):
        _item(item, f"{path}.items[{index}]", out)


def _item(item: JsonObject, path: str, out: list[Cause]) -> None:
    if not item.get("key"):
        out.append(required(f"{path}.key"))
    if not item.get("path"):
        out.append(required(f"{path}.path"))
    else:
        _target(item["path"], f"{path}.path", out)
    _mode(item, "mode", path, out)


def _target(value: str, path: str, out: list[Cause]) -> None:
    descending_path(value, path, out)
    if value.startswith("..") and not value.startswith("../"):
        out.append(invalid(path, value, "must not start with '..'"))


def _mode(source: JsonObject, key: str, path: str, out: list[Cause]) -> None:
    mode = source.get(key)
    if mode is not None and not 0 <= mode <= 0o777:
        out.append(invalid(f"{path}.{key}", mode, _FILE_MODE))


def _downward(items: list[JsonObject], path: str, out: list[Cause]) -> None:
    for item in items:
        if not item.get("path"):
            out.append(required(f"{path}.path"))
        else:
            _target(item["path"], f"{path}.path", out)
        if "fieldRef" in item:
            if "resourceFieldRef" in item:
                detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
                out.append(invalid(path, "resource", detail))
            field_selector(item["fieldRef"], _VOLUME_FIELDS, f"{path}.fieldRef", out)
        elif "resourceFieldRef" not in item:
            out.append(required(path, "one of fieldRef and resourceFieldRef is required"))
        _mode(item, "mode", path, out)


def _projected(source: JsonObject, path: str, out: list[Cause]) -> None:
    _mode(source, "defaultMode", path, out)
    for index, projection in enumerate(source.get("sources") or ()):
        where = f"{path}.sources[{index}]"
        if len(projection) > 1:
            given = [key for key in _PROJECTIONS if key in projection]
            detail = "may not specify more than 1 volume type per source"
            out += [forbidden(f"{where}.{extra}", detail) for extra in given[1:]]
        for key in ("secret", "configMap"):
            if key in projection and not projection[key].get("name"):
                out.append(required(f"{where}.{key}.name"))
        if "downwardAPI" in projection:
            _downward(projection["downwardAPI"].get("items") or [], f"{where}.downwardAPI", out)
        token = projection.get("serviceAccountToken")
        if token is not None:
            _token(token, f"{where}.serviceAccountToken", path, out)


def _token(token: JsonObject, path: str, outer: str, out: list[Cause]) -> None:
    seconds = token.get("expirationSeconds", 3600)
    if seconds < 600:
        detail = "may not specify a duration less than 10 minutes"
        out.append(invalid(f"{path}.expirationSeconds", seconds, detail))
    if seconds > 2**32:
        detail = "may not specify a duration larger than 2^32 seconds"
        out.append(invalid(f"{path}.expirationSeconds", seconds, detail))
    if not token.get("path"):
        out.append(required(f"{outer}.path"))
