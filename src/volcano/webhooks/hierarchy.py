"""The hierarchy annotations of queues: a path, and a weight for each of its segments."""

import math
import re
from collections.abc import Mapping

from volcano.api import kinds, wellknown
from volcano.api.admission import Lookup
from volcano.api.objects import name_of
from volcano.webhooks.check import annotations_of

_NUMBER = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE
)


def hierarchy_error(name: str, annotations: Mapping[str, str], lookup: Lookup) -> str:
    """What is wrong with the hierarchy of a queue, or an empty text."""
    hierarchy = annotations.get(wellknown.HIERARCHY) or ""
    weights = annotations.get(wellknown.HIERARCHY_WEIGHTS) or ""
    if not hierarchy and not weights:
        return ""
    segments = weights.split("/")
    if len(hierarchy.split("/")) != len(segments):
        return _invalid(
            hierarchy,
            f"{wellknown.HIERARCHY} must have the same length with {wellknown.HIERARCHY_WEIGHTS}",
        )
    for segment in segments:
        if not _NUMBER.fullmatch(segment):
            return _invalid(
                weights,
                f"{segment} in the {weights} is invalid number:"
                f' strconv.ParseFloat: parsing "{segment}": invalid syntax',
            )
        weight = float(segment)
        if not math.isnan(weight) and weight <= 0:
            return _invalid(weights, f"{segment} in the {weights} must be larger than 0")
    return _path_error(name, hierarchy, lookup)


def _path_error(name: str, hierarchy: str, lookup: Lookup) -> str:
    """A queue of the hierarchy is a leaf: no other queue's path may lead through it."""
    for queue in sorted(lookup.list(kinds.QUEUE), key=name_of):
        other = annotations_of(queue).get(wellknown.HIERARCHY) or ""
        if name_of(queue) != name and hierarchy and other.startswith(f"{hierarchy}/"):
            return _invalid(
                hierarchy,
                f"{hierarchy} is not allowed to be in the sub path of {other}"
                f" of queue {name_of(queue)}",
            )
    return ""


def _invalid(value: str, message: str) -> str:
    return f'requestBody.metadata.annotations: Invalid value: "{value}": {message}'
