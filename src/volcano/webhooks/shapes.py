"""What checks read of an object: types only, so that values the schema forbids are judged too."""

import msgspec
from msgspec import field

from volcano.api.objects import JsonObject


class Shape(msgspec.Struct, rename="camel", frozen=True):
    """Base: camelCase names, unknown fields ignored."""


class TopologyShape(Shape, frozen=True):
    """`networkTopology`."""

    highest_tier_allowed: int | None = None
    highest_tier_name: str = ""

    @property
    def has_both_limits(self) -> bool:
        """Whether the tier is limited by number and by name."""
        return self.highest_tier_allowed is not None and bool(self.highest_tier_name)


class PolicyShape(Shape, frozen=True):
    """A lifecycle policy."""

    action: str = ""
    event: str = ""
    events: tuple[str, ...] = ()
    exit_code: int | None = None

    @property
    def all_events(self) -> tuple[str, ...]:
        """`events`, then `event`, each once."""
        listed = (*self.events, self.event) if self.event else self.events
        return tuple(dict.fromkeys(listed))


class PartitionShape(Shape, frozen=True):
    """A task's `partitionPolicy`."""

    total_partitions: int = 0
    partition_size: int = 0
    min_partitions: int = 0
    network_topology: TopologyShape | None = None


class DependsOnShape(Shape, frozen=True):
    """A task's `dependsOn`."""

    name: tuple[str, ...] = ()


class TaskShape(Shape, frozen=True):
    """A task of a Job."""

    name: str = ""
    replicas: int = 0
    min_available: int | None = None
    max_retry: int = 0
    template: JsonObject = field(default_factory=dict)
    policies: tuple[PolicyShape, ...] = ()
    topology_policy: str = ""
    depends_on: DependsOnShape | None = None
    partition_policy: PartitionShape | None = None


class VolumeShape(Shape, frozen=True):
    """A volume of a Job."""

    mount_path: str = ""
    volume_claim_name: str = ""
    volume_claim: JsonObject | None = None


class JobShape(Shape, frozen=True):
    """The spec of a Job."""

    scheduler_name: str = ""
    min_available: int = 0
    volumes: tuple[VolumeShape, ...] = ()
    tasks: tuple[TaskShape, ...] = ()
    policies: tuple[PolicyShape, ...] = ()
    plugins: dict[str, tuple[str, ...]] | None = None
    queue: str = ""
    max_retry: int = 0
    network_topology: TopologyShape | None = None


class SubGroupShape(Shape, frozen=True):
    """A subgroup policy of a PodGroup."""

    name: str = ""
    network_topology: TopologyShape | None = None


class PodGroupShape(Shape, frozen=True):
    """The spec of a PodGroup."""

    queue: str = ""
    network_topology: TopologyShape | None = None
    sub_group_policy: tuple[SubGroupShape, ...] = ()


class GuaranteeShape(Shape, frozen=True):
    """`guarantee` of a Queue."""

    resource: dict[str, str | int | float] = field(default_factory=dict)


class QueueShape(Shape, frozen=True):
    """The spec of a Queue."""

    weight: int = 0
    capability: dict[str, str | int | float] = field(default_factory=dict)
    deserved: dict[str, str | int | float] = field(default_factory=dict)
    guarantee: GuaranteeShape = GuaranteeShape()
    reclaimable: bool | None = None
    parent: str = ""


class FlowTargetsShape(Shape, frozen=True):
    """`dependsOn` of a step of a JobFlow."""

    targets: tuple[str, ...] = ()


class FlowShape(Shape, frozen=True):
    """A step of a JobFlow."""

    name: str = ""
    depends_on: FlowTargetsShape | None = None


class JobFlowShape(Shape, frozen=True):
    """The spec of a JobFlow."""

    flows: tuple[FlowShape, ...] = ()


class RegexShape(Shape, frozen=True):
    """`regexMatch` of a HyperNode's member."""

    pattern: str = ""


class SelectorShape(Shape, frozen=True):
    """The selector of a HyperNode's member."""

    regex_match: RegexShape | None = None


class MemberShape(Shape, frozen=True):
    """A member of a HyperNode."""

    selector: SelectorShape | None = None


class HyperNodeShape(Shape, frozen=True):
    """The spec of a HyperNode."""

    members: tuple[MemberShape, ...] = ()


class CronJobShape(Shape, frozen=True):
    """The spec of a CronJob."""

    schedule: str = ""
    time_zone: str | None = None
