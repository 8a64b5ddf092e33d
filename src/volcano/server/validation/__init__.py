"""Semantic rules of the core kinds: defaults as stored, validation in Kubernetes' own words.

    apply_defaults(kind, obj)                       completes a core object in place
    validate_create(kind, obj) -> causes            any kind; custom kinds: metadata only
    validate_update(kind, new, old, subresource)    what may change
    invalid(kind, name, causes) -> ApiError         the 422 answer
    pod_template_errors(template) -> sentences      templates of Volcano's tasks

Everything here takes objects that went through `schema`, so types are right and nulls are gone.
"""

from volcano.server.validation.defaults import default_pod_template, qos_class
from volcano.server.validation.kind_defaults import apply_defaults
from volcano.server.validation.pods import pod_template_errors
from volcano.server.validation.rules import invalid, validate_create, validate_update

__all__ = [
    "apply_defaults",
    "default_pod_template",
    "invalid",
    "pod_template_errors",
    "qos_class",
    "validate_create",
    "validate_update",
]
