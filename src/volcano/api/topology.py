"""HyperNode of `topology.volcano.sh/v1alpha1` (spec api, section 6)."""

from typing import Annotated, Literal

from msgspec import Meta

from volcano.api.meta import ApiObject, Condition, Int64, LabelSelector, SubdomainName, Wire


class ExactMatch(Wire, frozen=True):
    """The member with one name."""

    name: Annotated[SubdomainName, Meta(description="Name of the member.", min_length=1)]


class RegexMatch(Wire, frozen=True):
    """The members whose names match."""

    pattern: Annotated[str, Meta(description="Regular expression (RE2).", min_length=1)]


class MemberSelector(Wire, frozen=True):
    """Who is a member: exactly one of the three."""

    exact_match: Annotated[ExactMatch | None, Meta(description="The member of that name.")] = None
    regex_match: Annotated[RegexMatch | None, Meta(description="Members whose names match.")] = None
    label_match: Annotated[
        LabelSelector | None, Meta(description="Nodes with these labels; for type Node only.")
    ] = None


_ONE_OF_THREE = [
    {
        "rule": "has(self.exactMatch) || has(self.regexMatch) || has(self.labelMatch)",
        "message": "Either ExactMatch or RegexMatch or LabelMatch must be specified",
    },
    {
        "rule": (
            "(has(self.exactMatch) ? 1 : 0) + (has(self.regexMatch) ? 1 : 0)"
            " + (has(self.labelMatch) ? 1 : 0) <= 1"
        ),
        "message": "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified",
    },
]


class MemberSpec(Wire, frozen=True):
    """Nodes, or HyperNodes of a lower tier, that are part of a HyperNode."""

    type: Annotated[Literal["Node", "HyperNode"], Meta(description="Kind of the members.")]
    selector: Annotated[
        MemberSelector | None,
        Meta(
            description="Which objects of that kind.",
            extra_json_schema={"x-kubernetes-validations": _ONE_OF_THREE},
        ),
    ] = None


class HyperNodeSpec(Wire, frozen=True):
    """A domain of the network."""

    tier: Annotated[int, Meta(description="Level; the smaller, the closer.", ge=0)]
    tier_name: Annotated[str, Meta(description="Name of the level.", max_length=253)] = ""
    members: Annotated[
        tuple[MemberSpec, ...], Meta(description="What the domain holds.", min_length=1)
    ] = ()


class HyperNodeStatus(Wire, frozen=True):
    """What a HyperNode came out as."""

    conditions: Annotated[tuple[Condition, ...], Meta(description="Its conditions.")] = ()
    node_count: Annotated[Int64, Meta(description="Nodes in it, at any depth.", ge=0)] = 0


class HyperNode(ApiObject, frozen=True):
    """A domain of the network, such as a rack or a switch, and what is in it."""

    spec: Annotated[HyperNodeSpec | None, Meta(description="Tier and members.")] = None
    status: Annotated[HyperNodeStatus, Meta(description="What it came out as.")] = HyperNodeStatus()
