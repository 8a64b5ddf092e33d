"""The effects that take away what belongs to a Job."""

from collections.abc import Sequence

from volcano.api.kinds import POD_GROUP
from volcano.api.objects import JsonObject, name_of, namespace_of, uid_of
from volcano.controllers.effects import Delete, Effect, RemovePods
from volcano.controllers.job.observed import Observed
from volcano.controllers.job.pods import PodFact


def remove_pods(o: Observed, pods: Sequence[PodFact]) -> list[Effect]:
    """Remove pods on purpose; nothing for none."""
    if not pods:
        return []
    return [RemovePods(o.namespace, tuple((pod.name, pod.uid) for pod in pods), about=o.raw)]


def delete_group(group: JsonObject) -> Delete:
    """Delete this very PodGroup."""
    return Delete(POD_GROUP, namespace_of(group), name_of(group), uid=uid_of(group))
