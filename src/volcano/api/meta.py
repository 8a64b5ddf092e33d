"""Building blocks of the typed kinds: the base struct, metadata, references, core types.

The structs of `volcano.api` have two uses. They read: `msgspec.convert(obj, Job)` takes the fields
they know and ignores the others. And they are the source of the CRDs (`crd_definitions`): their
constraints, descriptions and stored defaults become the structural schemas.

Conventions: a field without default is required on the wire; an empty tuple, an empty text and a
plain 0 stand for "absent" where the wire does not tell the two apart, None where it does; a
default marked `STORED` is also written into stored objects by the API server.
"""

from typing import Annotated

import msgspec
from msgspec import Meta, field

from volcano.api.objects import JsonObject

STORED = Meta(extra={"stored": True})
"""Mark: the API server writes the field's default into objects that lack it."""

ATOMIC = Meta(extra_json_schema={"x-kubernetes-list-type": "atomic"})
"""Mark of a list that is replaced as a whole by merges."""

DNS_LABEL_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_SUBDOMAIN_PATTERN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)

Int32 = Annotated[int, Meta(extra_json_schema={"format": "int32"})]
Int64 = Annotated[int, Meta(extra_json_schema={"format": "int64"})]
Count = Annotated[int, Meta(ge=0, extra_json_schema={"format": "int32"})]
Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Duration = Annotated[str, Meta(extra={"duration": True})]
"""Go duration text such as `5m0s`; the schema does not check it."""
SubdomainName = Annotated[str, Meta(max_length=253, pattern=DNS_SUBDOMAIN_PATTERN)]
Quantity = Annotated[int | str, Meta(extra={"quantity": True})]
ResourceList = dict[str, Quantity]


def _definition(name: str) -> Meta:
    return Meta(extra={"definition": name})


# Core types: kept as JSON, their shape comes from `volcano.api.schemas`.
PodTemplateSpec = Annotated[JsonObject, _definition("io.k8s.api.core.v1.PodTemplateSpec")]
PersistentVolumeClaimSpec = Annotated[
    JsonObject, _definition("io.k8s.api.core.v1.PersistentVolumeClaimSpec")
]
ObjectReference = Annotated[JsonObject, _definition("io.k8s.api.core.v1.ObjectReference")]
LabelSelector = Annotated[
    JsonObject, _definition("io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector")
]
EmbeddedMetadata = Annotated[
    JsonObject, _definition("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
]


class Wire(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """Base of everything on the wire: camelCase names, unknown fields ignored, immutable."""


class OwnerReference(Wire, frozen=True):
    """Whom an object belongs to, or whom a command is for."""

    api_version: Annotated[str, Meta(description="apiVersion of the object referred to.")]
    kind: Annotated[str, Meta(description="Kind of the object referred to.")]
    name: Annotated[str, Meta(description="Name of the object referred to.")]
    uid: Annotated[str, Meta(description="UID of the object referred to.")]
    controller: Annotated[
        bool, Meta(description="Whether the object referred to controls this one.")
    ] = False
    block_owner_deletion: Annotated[
        bool, Meta(description="Whether a foreground deletion of the owner waits for this object.")
    ] = False


class ObjectMeta(Wire, frozen=True):
    """The parts of `metadata` that readers need; times are RFC 3339 texts."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


class ApiObject(Wire, frozen=True):
    """Base of a whole object; `metadata` is read partially."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()


class Condition(Wire, frozen=True):
    """`meta/v1` Condition with the checks that Kubernetes puts on it."""

    type: Annotated[
        str,
        Meta(
            description="What the condition is about, CamelCase, optionally with a domain prefix.",
            max_length=316,
            pattern=(
                r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
                r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
            ),
        ),
    ]
    status: Annotated[
        str,
        Meta(
            description="Whether the condition holds.",
            extra_json_schema={"enum": ["True", "False", "Unknown"]},
        ),
    ]
    reason: Annotated[
        str,
        Meta(
            description="One CamelCase word for programs: why the status is as it is.",
            min_length=1,
            max_length=1024,
            pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        ),
    ]
    message: Annotated[str, Meta(description="Details for people.", max_length=32768)]
    last_transition_time: Annotated[Time, Meta(description="When the status last changed.")]
    observed_generation: Annotated[
        Int64, Meta(description="metadata.generation the condition was computed from.", ge=0)
    ] = 0
