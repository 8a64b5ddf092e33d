"""The plugins, in the order of their names; adding one is a file and a line here."""

from collections.abc import Mapping, Sequence
from typing import Any

from volcano.base.errors import ConfigError
from volcano.scheduler.conf import PluginEntry, SchedulerConf, hint
from volcano.scheduler.hooks import Plugin
from volcano.scheduler.plugins.binpack import BinPack
from volcano.scheduler.plugins.conformance import Conformance
from volcano.scheduler.plugins.drf import Drf, refuse_hierarchy
from volcano.scheduler.plugins.gang import Gang
from volcano.scheduler.plugins.nodeorder import NodeOrder
from volcano.scheduler.plugins.overcommit import Overcommit
from volcano.scheduler.plugins.predicates import Predicates
from volcano.scheduler.plugins.priority import Priority
from volcano.scheduler.plugins.proportion import Proportion

PLUGINS: Mapping[str, type[Plugin[Any]]] = {
    plugin.name: plugin
    for plugin in (
        BinPack,
        Conformance,
        Drf,
        Gang,
        NodeOrder,
        Overcommit,
        Predicates,
        Priority,
        Proportion,
    )
}

NOT_YET = (
    "capacity",
    "cdp",
    "deviceshare",
    "extender",
    "network-topology-aware",
    "nodegroup",
    "numa-aware",
    "pdb",
    "rescheduling",
    "resource-strategy-fit",
    "resourcequota",
    "sla",
    "task-topology",
    "tdm",
    "usage",
)
"""Volcano's plugins that do not exist here yet."""


def make_plugins(conf: SchedulerConf) -> Sequence[Sequence[tuple[Plugin[Any], PluginEntry]]]:
    """Fresh plugins for one session.

    Raises:
        ConfigError: a plugin or one of its arguments is unknown or wrong.
    """
    return [[(_make(entry), entry) for entry in tier] for tier in conf.tiers]


def _make(entry: PluginEntry) -> Plugin[Any]:
    kind = PLUGINS.get(entry.name)
    if kind is None:
        if entry.name in NOT_YET:
            raise ConfigError(
                f"plugin {entry.name} is not available yet; take it out of the configuration."
                f" Available: {', '.join(PLUGINS)}"
            )
        raise ConfigError(f"unknown plugin {entry.name!r}{hint(entry.name, list(PLUGINS))}")
    if entry.name == "drf":
        refuse_hierarchy(enabled=entry.is_on("enableHierarchy"))
    arguments = entry.reader()
    plugin = kind(kind.Args.read(arguments))
    arguments.finish()
    return plugin
