"""The scheduler's configuration file (`volcano-scheduler.conf`) as frozen dataclasses.

The file is Volcano's: `actions` (one string with commas), `tiers` of plugins with their switches
and `arguments`, `configurations` (arguments of actions), `metrics`. What is misspelt is an error
with a hint, where upstream would silently run without it.
"""

import difflib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from volcano.base.errors import ConfigError
from volcano.scheduler.hooks import SWITCHES

DEFAULT_CONF = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""
"""What runs without a configuration file."""

_TOP_KEYS = ("actions", "tiers", "configurations", "metrics")
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})


class Arguments:
    """Typed reading of an `arguments` map; whatever nobody has read is an error at `finish`."""

    def __init__(self, owner: str, values: Mapping[str, Any]) -> None:
        self.owner = owner
        self._values = values
        self._known: list[str] = []

    def integer(self, key: str, default: int) -> int:
        """A whole number."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(key, value, "a whole number")
        return value

    def number(self, key: str, default: float) -> float:
        """A number."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._wrong(key, value, "a number")
        return float(value)

    def boolean(self, key: str, *, default: bool) -> bool:
        """A boolean, or the text of one."""
        value = self._get(key, default)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value in _TRUE | _FALSE:
            return value in _TRUE
        raise self._wrong(key, value, "true or false")

    def text(self, key: str, default: str) -> str:
        """A text."""
        value = self._get(key, default)
        if not isinstance(value, str):
            raise self._wrong(key, value, "a text")
        return value

    def accept(self, key: str) -> None:
        """An argument that is known and means nothing here."""
        self._known.append(key)

    def finish(self) -> None:
        """Refuse arguments that nobody has read.

        Raises:
            ConfigError: names the argument and the nearest known one.
        """
        for key in self._values:
            if key not in self._known:
                raise ConfigError(f"{self.owner} has no argument {key!r}{hint(key, self._known)}")

    def _get(self, key: str, default: Any) -> Any:
        self._known.append(key)
        return self._values.get(key, default)

    def _wrong(self, key: str, value: object, wanted: str) -> ConfigError:
        return ConfigError(f"{self.owner}: argument {key} must be {wanted}, it is {value!r}")


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """One plugin of a tier: switches as written, defaults filled in on reading."""

    name: str
    switches: Mapping[str, bool] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def is_on(self, switch: str) -> bool:
        """Whether a switch is on for this plugin."""
        return self.switches.get(switch, SWITCHES[switch])

    def reader(self) -> Arguments:
        """The arguments for typed reading."""
        return Arguments(f"plugin {self.name}", self.arguments)


@dataclass(frozen=True, slots=True)
class SchedulerConf:
    """One configuration, complete and checked for its form.

    Attributes:
        configurations: action → its arguments (the first entry of that name).
    """

    actions: tuple[str, ...]
    tiers: tuple[tuple[PluginEntry, ...], ...]
    configurations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def action_arguments(self, action: str) -> Arguments:
        """The arguments of an action for typed reading."""
        return Arguments(f"action {action}", self.configurations.get(action, {}))


def hint(word: str, known: Collection[str]) -> str:
    """`; did you mean …?` or the list of what there is."""
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; it knows: {', '.join(sorted(known))}" if known else "; it takes none"


def default() -> SchedulerConf:
    """The built-in configuration."""
    return load(DEFAULT_CONF)


def load(text: str) -> SchedulerConf:
    """Read a configuration file's text; `cycle.check` looks at what the names stand for.

    Raises:
        ConfigError: says which part is wrong and what to write instead.
    """
    try:
        document = yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as error:
        raise ConfigError(f"scheduler configuration is not YAML: {error}") from error
    if not isinstance(document, dict):
        raise ConfigError("scheduler configuration must be a map with `actions` and `tiers`")
    for key in document:
        if key not in _TOP_KEYS:
            raise ConfigError(f"scheduler configuration: unknown key {key!r}{hint(key, _TOP_KEYS)}")
    if (document.get("metrics") or {}).get("type"):
        raise ConfigError("scheduler configuration: `metrics` sources are not available yet")
    return SchedulerConf(
        actions=_actions(document.get("actions")),
        tiers=tuple(_tier(i, tier) for i, tier in enumerate(_list(document, "tiers"))),
        configurations=_configurations(_list(document, "configurations")),
    )


def _list(document: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = document.get(key) or []
    if not isinstance(value, list):
        raise ConfigError(f"scheduler configuration: `{key}` must be a list")
    return value


def _actions(value: object) -> tuple[str, ...]:
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(
            "scheduler configuration: `actions` must be a text such as"
            ' "enqueue, allocate, backfill"'
        )
    return tuple(name.strip() for name in value.split(","))


def _tier(number: int, tier: object) -> tuple[PluginEntry, ...]:
    if not isinstance(tier, dict) or not isinstance(tier.get("plugins"), list):
        raise ConfigError(f"scheduler configuration: tiers[{number}] must have a list `plugins`")
    entries = tuple(_plugin(number, i, plugin) for i, plugin in enumerate(tier["plugins"]))
    names = {entry.name for entry in entries}
    for entry in entries:
        if entry.name == "drf" and entry.is_on("enableHierarchy") and "proportion" in names:
            raise ConfigError(
                f"scheduler configuration: tiers[{number}]: proportion and drf with hierarchy"
                " enabled conflicts; take enableHierarchy off drf or proportion out of the tier"
            )
    return entries


def _plugin(tier: int, number: int, plugin: object) -> PluginEntry:
    where = f"scheduler configuration: tiers[{tier}].plugins[{number}]"
    if not isinstance(plugin, dict) or not isinstance(plugin.get("name"), str):
        raise ConfigError(f"{where} must be a map with a `name`")
    arguments = plugin.get("arguments") or {}
    if not isinstance(arguments, dict):
        raise ConfigError(f"{where} ({plugin['name']}): `arguments` must be a map")
    switches: dict[str, bool] = {}
    for key, value in plugin.items():
        if key in ("name", "arguments"):
            continue
        if key not in SWITCHES:
            raise ConfigError(
                f"{where} ({plugin['name']}): unknown key {key!r}{hint(key, SWITCHES)}"
            )
        if not isinstance(value, bool):
            raise ConfigError(f"{where} ({plugin['name']}): {key} must be true or false")
        switches[key] = value
    return PluginEntry(plugin["name"], switches, arguments)


def _configurations(entries: Sequence[Any]) -> Mapping[str, Mapping[str, Any]]:
    result: dict[str, Mapping[str, Any]] = {}
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise ConfigError(
                f"scheduler configuration: configurations[{number}] must be a map with a `name`"
            )
        arguments = entry.get("arguments") or {}
        if not isinstance(arguments, dict):
            raise ConfigError(
                f"scheduler configuration: configurations[{number}]: `arguments` must be a map"
            )
        result.setdefault(entry["name"], arguments)
    return result
