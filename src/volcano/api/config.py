"""ColocationConfiguration of `config.volcano.sh/v1alpha1` (spec api, section 8)."""

from typing import Annotated

from msgspec import Meta

from volcano.api.meta import STORED, ApiObject, Condition, LabelSelector, Wire


class MemoryQos(Wire, frozen=True):
    """Memory protection and throttling, in percent of the pods' requests and limits."""

    high_ratio: Annotated[
        int, STORED, Meta(description="Share of the limit where throttling begins.", ge=0, le=100)
    ] = 100
    low_ratio: Annotated[
        int, STORED, Meta(description="Share of the request protected softly.", ge=0, le=100)
    ] = 0
    min_ratio: Annotated[
        int, STORED, Meta(description="Share of the request protected for sure.", ge=0, le=100)
    ] = 0


class ColocationConfigurationSpec(Wire, frozen=True):
    """Which pods, and how."""

    selector: Annotated[
        LabelSelector | None, Meta(description="Pods of the same namespace it is for.")
    ] = None
    memory_qos: Annotated[MemoryQos | None, Meta(description="Memory quality of service.")] = None


class ColocationConfigurationStatus(Wire, frozen=True):
    """What came of a configuration."""

    conditions: Annotated[
        tuple[Condition, ...],
        Meta(
            description="Its conditions.",
            extra_json_schema={
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"],
            },
        ),
    ] = ()


class ColocationConfiguration(ApiObject, frozen=True, kw_only=True):
    """How pods that share nodes with others are treated there."""

    spec: Annotated[ColocationConfigurationSpec, Meta(description="Which pods, and how.")]
    status: Annotated[ColocationConfigurationStatus, Meta(description="What came of it.")] = (
        ColocationConfigurationStatus()
    )
