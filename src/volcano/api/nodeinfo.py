"""Numatopology of `nodeinfo.volcano.sh/v1alpha1` (spec api, section 7)."""

from typing import Annotated

from msgspec import Meta, field

from volcano.api.meta import ApiObject, Wire


class NumaResource(Wire, frozen=True):
    """One resource of a node, by NUMA node."""

    allocatable: Annotated[
        str, Meta(description="What pods may use; for cpu a list of CPU ids such as 0-3,8.")
    ] = ""
    capacity: Annotated[int, Meta(description="Amount on the node.")] = 0


class CpuInfo(Wire, frozen=True):
    """Where one CPU sits."""

    numa: Annotated[int, Meta(description="Its NUMA node.", ge=0)] = 0
    socket: Annotated[int, Meta(description="Its socket.", ge=0)] = 0
    core: Annotated[int, Meta(description="Its physical core.", ge=0)] = 0


class ContainerAllocation(Wire, frozen=True):
    """What one container holds."""

    name: Annotated[str, Meta(description="Name of the container.")] = ""
    allocations: Annotated[
        dict[str, str], Meta(description="Amount per resource; for cpu a list of CPU ids.")
    ] = field(default_factory=dict)


class PodAllocation(Wire, frozen=True):
    """What one running pod holds."""

    uid: Annotated[str, Meta(description="UID of the pod.")] = ""
    name: Annotated[str, Meta(description="Name of the pod.")] = ""
    namespace: Annotated[str, Meta(description="Namespace of the pod.")] = ""
    container_allocations: Annotated[
        tuple[ContainerAllocation, ...], Meta(description="What its containers hold.")
    ] = ()


class NumatopologySpec(Wire, frozen=True):
    """The NUMA layout of a node."""

    policies: Annotated[
        dict[str, str],
        Meta(description="The kubelet's CPUManagerPolicy and TopologyManagerPolicy."),
    ] = field(default_factory=dict)
    res_reserved: Annotated[
        dict[str, str], Meta(description="Amount per resource kept from pods.")
    ] = field(default_factory=dict)
    numares: Annotated[
        dict[str, NumaResource], Meta(description="Resources that have a NUMA place.")
    ] = field(default_factory=dict)
    cpu_detail: Annotated[
        dict[str, CpuInfo], Meta(description="Where each CPU sits, by its id.")
    ] = field(default_factory=dict)
    pod_allocations: Annotated[
        tuple[PodAllocation, ...], Meta(description="What running pods hold.")
    ] = ()


class Numatopology(ApiObject, frozen=True):
    """The NUMA layout of the node of the same name."""

    spec: Annotated[NumatopologySpec, Meta(description="The layout.")] = NumatopologySpec()
