"""What a client can read: the Accept header as media ranges in order of preference."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class MediaRange:
    """One range of an Accept header; parameter names in lower case, without `q`."""

    media_type: str
    quality: float = 1.0
    parameters: Mapping[str, str] = field(default_factory=dict)

    def asks_for(self, kind: str, group: str, version: str) -> bool:
        """Whether it asks for JSON transformed `as` a kind, e.g. a Table of meta.k8s.io/v1."""
        wanted = {"as": kind, "g": group, "v": version}
        return self.is_json and all(self.parameters.get(key) == wanted[key] for key in wanted)

    @property
    def is_json(self) -> bool:
        """Whether plain JSON is within the range."""
        return self.media_type in ("application/json", "application/*", "*/*")


@lru_cache(maxsize=256)
def parse(header: str) -> tuple[MediaRange, ...]:
    """The ranges of an Accept header, best first; an empty header accepts everything.

    A range with a malformed quality counts as quality 1; quality 0 is left out.
    """
    if not header.strip():
        return (MediaRange("*/*"),)
    ranges = [_range(text) for text in header.split(",") if text.strip()]
    return tuple(sorted((one for one in ranges if one.quality > 0), key=lambda one: -one.quality))


def accepts_json(header: str) -> bool:
    """Whether plain JSON may be answered."""
    return any(one.is_json and "as" not in one.parameters for one in parse(header))


def _range(text: str) -> MediaRange:
    media_type, *pairs = (part.strip() for part in text.split(";"))
    parameters = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        parameters[name.strip().lower()] = value.strip().strip('"')
    return MediaRange(media_type.lower(), _quality(parameters.pop("q", "1")), parameters)


def _quality(text: str) -> float:
    try:
        return min(max(float(text), 0.0), 1.0)
    except ValueError:
        return 1.0
