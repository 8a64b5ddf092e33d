"""env: tells every container its index in the task."""

from typing import ClassVar

from volcano.api.batch import TaskSpec
from volcano.api.objects import JsonObject
from volcano.api.wellknown import ENV_TASK_INDEX, ENV_TASK_INDEX_LEGACY
from volcano.controllers.job.plugins.base import JobPlugin, all_containers

_NAMES = (ENV_TASK_INDEX_LEGACY, ENV_TASK_INDEX)


class Env(JobPlugin):
    """Appends `VC_TASK_INDEX` and its older name to all containers and init containers."""

    name: ClassVar[str] = "env"

    def on_pod(self, pod: JsonObject, task: TaskSpec, index: int) -> None:  # noqa: ARG002 - hook
        """Add the variables."""
        added = [{"name": name, "value": str(index)} for name in _NAMES]
        for container in all_containers(pod):
            container["env"] = [*(container.get("env") or ()), *added]
