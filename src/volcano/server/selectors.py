"""Label and field selectors, parsed once into predicates on objects."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject, metadata
from volcano.server.refusals import bad_request

Labels = Mapping[str, str]
Predicate = Callable[[JsonObject], bool]

_TOKEN = re.compile(r"\s*(?:(==|!=|=|!|\(|\)|,|>|<)|([^\s=!(),<>]+))")
_KEY = re.compile(
    r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
)
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")

_NAME, _NAMESPACE = "metadata.name", "metadata.namespace"
_INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_FIELDS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "pods"): (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    ("", "nodes"): ("spec.unschedulable",),
    ("", "namespaces"): ("status.phase",),
    ("", "secrets"): ("type",),
    ("", "replicationcontrollers"): ("status.replicas",),
    ("", "events"): (
        *(f"involvedObject.{name}" for name in _INVOLVED),
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    ("events.k8s.io", "events"): (
        *(f"regarding.{name}" for name in _INVOLVED),
        "reason",
        "reportingController",
        "type",
    ),
    ("apps", "replicasets"): ("status.replicas",),
    ("batch", "jobs"): ("status.successful",),
}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One term of a label selector."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Labels) -> bool:
        """Whether labels satisfy it."""
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value is not None and value in self.values
            case "notin":
                return value is None or value not in self.values
            case "exists":
                return value is not None
            case "!":
                return value is None
        try:
            number, bound = int(value or ""), int(self.values[0])
        except ValueError:
            return False
        return number > bound if self.operator == ">" else number < bound


@lru_cache(maxsize=512)
def parse_labels(text: str) -> tuple[Requirement, ...]:
    """The terms of a label selector such as `a=b,c in (d,e),!f`.

    Raises:
        ApiError: BadRequest, it does not parse.
    """
    if not text.strip():
        return ()
    return tuple(_LabelParser(text).parse())


class _LabelParser:
    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        position = 0
        text = text.rstrip()
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise bad_request(f"unable to parse requirement: invalid character at {position}")
            self._tokens.append(match.group(1) or match.group(2))
            position = match.end()
        self._tokens.append("")

    def parse(self) -> list[Requirement]:
        found = [self._requirement()]
        while self._tokens[0] == ",":
            self._tokens.pop(0)
            found.append(self._requirement())
        if self._tokens[0]:
            raise _unexpected(self._tokens[0], "',' or 'end of string'")
        return found

    def _requirement(self) -> Requirement:
        negated = self._tokens[0] == "!"
        if negated:
            self._tokens.pop(0)
        key = self._tokens.pop(0)
        if not _KEY.fullmatch(key):
            raise _unexpected(key, "!, identifier, or 'end of string'")
        following = self._tokens[0]
        if negated:
            return Requirement(key, "!")
        if following in ("", ","):
            return Requirement(key, "exists")
        operator = self._tokens.pop(0)
        if operator in ("=", "==", "!="):
            value = "" if self._tokens[0] in ("", ",") else self._tokens.pop(0)
            return Requirement(key, "notin" if operator == "!=" else "in", (_value(key, value),))
        if operator in ("in", "notin"):
            return Requirement(key, operator, self._values(key))
        if operator in (">", "<"):
            value = self._tokens.pop(0)
            if not re.fullmatch(r"-?\d+", value):
                raise bad_request(
                    f'unable to parse requirement: values[0][{key}]: Invalid value: "{value}":'
                    " for 'Gt', 'Lt' operators, the value must be an integer"
                )
            return Requirement(key, operator, (value,))
        raise _unexpected(operator, "in, notin, =, ==, !=, gt, lt")

    def _values(self, key: str) -> tuple[str, ...]:
        if self._tokens[0] != "(":
            raise _unexpected(self._tokens[0], "'('")
        self._tokens.pop(0)
        values: list[str] = []
        while True:
            values.append("" if self._tokens[0] in (",", ")") else self._tokens.pop(0))
            following = self._tokens.pop(0)
            if following == ")":
                return tuple(_value(key, value) for value in values)
            if following != ",":
                raise _unexpected(following, "',' or ')'")


def _value(key: str, value: str) -> str:
    if not _VALUE.fullmatch(value):
        raise bad_request(
            f'unable to parse requirement: values[0][{key}]: Invalid value: "{value}": a valid'
            " label must be an empty string or consist of alphanumeric characters, '-', '_' or"
            " '.', and must start and end with an alphanumeric character"
        )
    return value


def _unexpected(token: str, expected: str) -> Exception:
    return bad_request(f"unable to parse requirement: found '{token}', expected: {expected}")


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One term of a field selector."""

    path: str
    value: str
    equal: bool


def parse_fields(text: str, kind: Kind, extra: tuple[str, ...] = ()) -> tuple[FieldTerm, ...]:
    """The terms of a field selector such as `metadata.name=a,spec.nodeName!=b`.

    Args:
        text: the selector.
        kind: whose selectable fields count.
        extra: further selectable fields (a CRD's `selectableFields`, without the leading dot).

    Raises:
        ApiError: BadRequest, it does not parse or names a field that is not selectable.
    """
    terms: list[FieldTerm] = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        path, operator, value = _split_field(part)
        known = (_NAME, *_FIELDS.get((kind.group, kind.plural), ()), *extra)
        if path not in known and not (path == _NAMESPACE and kind.namespaced):
            raise bad_request(f"field label not supported: {path}")
        terms.append(FieldTerm(path, value, operator != "!="))
    return tuple(terms)


def _split_field(part: str) -> tuple[str, str, str]:
    for operator in ("!=", "==", "="):
        path, found, value = part.partition(operator)
        if found:
            return path.strip(), operator, value.strip()
    raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")


def field_value(obj: JsonObject, path: str) -> str:
    """The text of a selectable field; missing ones are empty."""
    if path == "source":
        path = "source.component"
    value: object = obj
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if value is None:
        return _ABSENT.get(path, "")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


_ABSENT = {"spec.unschedulable": "false", "spec.hostNetwork": "false", "status.replicas": "0"}


@dataclass(frozen=True, slots=True)
class Selection:
    """Label and field terms together.

    Attributes:
        name: set when the fields fix `metadata.name`.
    """

    labels: tuple[Requirement, ...] = ()
    fields: tuple[FieldTerm, ...] = ()

    @property
    def everything(self) -> bool:
        """Whether nothing is filtered."""
        return not self.labels and not self.fields

    @property
    def name(self) -> str:
        """The only name that can match, or empty."""
        for term in self.fields:
            if term.path == _NAME and term.equal:
                return term.value
        return ""

    def matches(self, obj: JsonObject) -> bool:
        """Whether an object is selected."""
        for term in self.fields:
            if (field_value(obj, term.path) == term.value) is not term.equal:
                return False
        if not self.labels:
            return True
        labels = metadata(obj).get("labels") or {}
        return all(requirement.holds(labels) for requirement in self.labels)


EVERYTHING = Selection()


def selection(query: Mapping[str, str], kind: Kind, extra: tuple[str, ...] = ()) -> Selection:
    """What `labelSelector` and `fieldSelector` of a query select."""
    labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
    if not labels and not fields:
        return EVERYTHING
    return Selection(parse_labels(labels), parse_fields(fields, kind, extra))


def match_label_selector(selector: JsonObject | None, labels: Labels) -> bool:
    """Whether a `metav1.LabelSelector` matches; None selects nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    operators = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
    return all(
        Requirement(
            str(term.get("key", "")),
            operators.get(str(term.get("operator")), "!"),
            tuple(term.get("values") or ()),
        ).holds(labels)
        for term in selector.get("matchExpressions") or ()
    )
