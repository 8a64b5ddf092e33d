"""Fields of a pod that a process node does not act on, as sentences for its events: pure."""

from collections.abc import Iterator

from volcano.node.pods import ContainerSpec, PodSpec

_USER_FIELDS = ("runAsUser", "runAsGroup", "fsGroup")


def ignored_fields(pod: PodSpec) -> list[str]:
    """One sentence per field that is set and not acted on."""
    context = (pod.raw.get("spec") or {}).get("securityContext") or {}
    sentences = [
        f"securityContext.{name} is not applied by process nodes: containers run as the user of "
        f"volcano up"
        for name in _USER_FIELDS
        if context.get(name) is not None
    ]
    for spec in pod.containers:
        sentences += [f"container {spec.name}: {text}" for text in _of_container(spec)]
    return sentences


def _of_container(spec: ContainerSpec) -> Iterator[str]:
    lifecycle = spec.raw.get("lifecycle") or {}
    for hook in ("preStop", "postStart"):
        if lifecycle.get(hook):
            yield f"the {hook} hook is not run by process nodes"
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if spec.raw.get(probe):
            yield (
                f"the {probe} is not run by process nodes; the container counts as ready while "
                f"it runs"
            )
    context = spec.raw.get("securityContext") or {}
    for name in _USER_FIELDS:
        if context.get(name) is not None:
            yield f"securityContext.{name} is not applied by process nodes"
    if spec.raw.get("stdin") or spec.raw.get("tty"):
        yield "stdin and tty are not offered by process nodes"
