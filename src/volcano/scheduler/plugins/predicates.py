"""predicates: Kubernetes' own tests of nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from volcano.resources.vector import PODS
from volcano.scheduler.conf import Arguments
from volcano.scheduler.hooks import Codes, Depends, Filter, Plugin
from volcano.scheduler.matching import matches_any, tolerates
from volcano.scheduler.model.task import Taint, TaskClass
from volcano.scheduler.model.topology import Bool
from volcano.scheduler.rows import Rows

_UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_OTHER_SWITCHES = (
    "predicate.PodAffinityEnable",
    "predicate.NodeVolumeLimitsEnable",
    "predicate.VolumeZoneEnable",
    "predicate.PodTopologySpreadEnable",
    "predicate.VolumeBindingEnable",
    "predicate.DynamicResourceAllocationEnable",
    "predicate.CacheEnable",
)
_OTHER_NUMBERS = (
    "volumebinding.weight",
    "volumebinding.bindTimeoutSeconds",
    "dynamicresources.filterTimeoutSeconds",
)


@dataclass(frozen=True, slots=True)
class Args:
    """Which tests run. Arguments of tests that are not here yet are accepted and change nothing:
    pods that need such a test are not placed at all."""

    node_affinity: bool = True
    node_ports: bool = True
    taint_toleration: bool = True

    @classmethod
    def read(cls, arguments: Arguments) -> "Args":
        """The arguments of a plugin entry."""
        for key in _OTHER_SWITCHES:
            arguments.boolean(key, default=True)
        for key in _OTHER_NUMBERS:
            arguments.integer(key, 0)
        arguments.accept("volumebinding.shape")
        return cls(
            node_affinity=arguments.boolean("predicate.NodeAffinityEnable", default=True),
            node_ports=arguments.boolean("predicate.NodePortsEnable", default=True),
            taint_toleration=arguments.boolean("predicate.TaintTolerationEnable", default=True),
        )


def _refuse(where: Bool) -> Codes:
    return where.astype(np.uint8)


class _PodNumber(Filter):
    depends = Depends.LOCAL
    reasons = ("node(s) pod number exceeded",)

    def codes(self, cls: TaskClass, rows: Rows) -> Codes:  # noqa: ARG002  # the hook's signature
        """Nodes that have as many pods as they may."""
        return _refuse(rows.allocatable[PODS] <= rows.occupied[PODS])


class _Unschedulable(Filter):
    depends = Depends.STATIC
    reasons = ("node(s) were unschedulable",)

    def applies(self, cls: TaskClass) -> bool:
        """To tasks that do not tolerate cordoned nodes."""
        return not tolerates(cls.tolerations, _UNSCHEDULABLE)

    def codes(self, cls: TaskClass, rows: Rows) -> Codes:  # noqa: ARG002  # the hook's signature
        """Cordoned nodes."""
        return _refuse(rows.narrow(rows.facts.unschedulable))


class _NodeAffinity(Filter):
    depends = Depends.STATIC
    reasons = ("node(s) didn't match Pod's node affinity/selector",)

    def applies(self, cls: TaskClass) -> bool:
        """To tasks with a node selector or required node affinity."""
        return bool(cls.node_selector) or cls.required_terms is not None

    def codes(self, cls: TaskClass, rows: Rows) -> Codes:
        """Nodes that lack a selected label or meet no required term."""
        facts = rows.facts
        ok = np.ones(len(facts.nodes), np.bool_)
        for key, wanted in cls.node_selector:
            values, column = facts.label(key)
            ok &= column == values[wanted] if wanted in values else np.False_
        if cls.required_terms is not None:
            ok &= matches_any(facts, cls.required_terms)
        return _refuse(~rows.narrow(ok))


class _TaintToleration(Filter):
    depends = Depends.STATIC
    reasons = ("node(s) had untolerated taint(s)",)

    def codes(self, cls: TaskClass, rows: Rows) -> Codes:
        """Nodes with a taint that keeps the task away."""

        def repels(taints: Sequence[Taint]) -> int:
            return any(
                taint.effect in ("NoSchedule", "NoExecute")
                and not tolerates(cls.tolerations, taint)
                for taint in taints
            )

        return rows.narrow(rows.facts.by_taints(repels)).astype(np.uint8)


class _NodePorts(Filter):
    depends = Depends.LOCAL
    reasons = ("node(s) didn't have free ports for the requested pod ports",)

    def applies(self, cls: TaskClass) -> bool:
        """To tasks with host ports."""
        return bool(cls.host_ports)

    def codes(self, cls: TaskClass, rows: Rows) -> Codes:
        """Nodes on which one of the ports is taken."""
        return _refuse(rows.port_conflicts(cls.host_ports))


class Predicates(Plugin[Args]):
    """Pod count, cordon, node selector and affinity, taints, host ports."""

    name = "predicates"
    Args = Args

    def filters(self) -> Sequence[Filter]:
        """The tests in order; the first that refuses a node gives the reason."""
        chosen: list[Filter] = [_PodNumber(), _Unschedulable()]
        if self.args.node_affinity:
            chosen.append(_NodeAffinity())
        if self.args.taint_toleration:
            chosen.append(_TaintToleration())
        if self.args.node_ports:
            chosen.append(_NodePorts())
        return chosen
