"""NodeShard of `shard.volcano.sh/v1alpha1` (spec api, section 9)."""

from typing import Annotated

from msgspec import Meta

from volcano.api.meta import ApiObject, Time, Wire

NodeNames = tuple[str, ...]


class NodeShardSpec(Wire, frozen=True):
    """The nodes meant for one scheduler."""

    nodes_desired: Annotated[
        NodeNames, Meta(description="Nodes meant for the scheduler that the shard is named after.")
    ]


class NodeShardStatus(Wire, frozen=True):
    """The nodes one scheduler uses."""

    last_update_time: Annotated[Time | None, Meta(description="When this was written.")] = None
    nodes_in_use: Annotated[NodeNames, Meta(description="Nodes the scheduler uses now.")] = ()
    nodes_to_remove: Annotated[NodeNames, Meta(description="Nodes it is to give up.")] = ()
    nodes_to_add: Annotated[NodeNames, Meta(description="Nodes it is to take over.")] = ()


class NodeShard(ApiObject, frozen=True, kw_only=True):
    """The part of the nodes that one scheduler of several places pods on."""

    spec: Annotated[NodeShardSpec, Meta(description="The nodes meant for it.")]
    status: Annotated[NodeShardStatus, Meta(description="The nodes it uses.")] = NodeShardStatus()
