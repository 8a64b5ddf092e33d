"""The shape of a job plugin, and how its arguments are read."""

from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from volcano.api.batch import TaskSpec
from volcano.api.objects import JsonObject
from volcano.api.wellknown import JOB_NAME, JOB_NAMESPACE
from volcano.controllers.effects import Delete, Ensure
from volcano.controllers.job.observed import Observed

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class JobPlugin(ABC):
    """Adds something to a job's pods, or objects beside them.

    Made anew for each look at a job; holds no state of its own.
    """

    name: ClassVar[str]

    def __init__(self, o: Observed, arguments: Sequence[str]) -> None:
        self.o = o
        self.arguments = arguments

    def on_pod(self, pod: JsonObject, task: TaskSpec, index: int) -> None:  # noqa: B027 - optional
        """Change a pod that is about to be created."""

    def objects(self) -> Iterable[Ensure]:
        """Objects that have to be there while the job waits or runs."""
        return ()

    def leftovers(self) -> Iterable[Delete]:
        """What to delete when the job's pods are killed."""
        return ()


def read_flags(arguments: Sequence[str], defaults: Mapping[str, str | bool]) -> dict[str, str]:
    """Values of Go-style flags: `-name value`, `--name=value`; a lone boolean flag is true.

    Reading stops at the first argument that is no known flag, or whose value is missing or wrong;
    what was read before stays in force.
    """
    values = {name: str(default).lower() for name, default in defaults.items()}
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-") or argument in {"-", "--"}:
            break
        name, equals, value = argument.removeprefix("-").removeprefix("-").partition("=")
        if name not in defaults:
            break
        if isinstance(defaults[name], bool):
            value = value if equals else "true"
            if value not in _TRUE | _FALSE:
                break
            value = "true" if value in _TRUE else "false"
        elif not equals:
            if not rest:
                break
            value = rest.pop(0)
        values[name] = value
    return values


def all_containers(pod: JsonObject) -> list[JsonObject]:
    """Containers and init containers of a pod."""
    spec = pod["spec"]
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


def hosts_of(o: Observed, task: TaskSpec) -> list[str]:
    """Domain names of a task's pods; a template with a host name of its own gives only one."""
    spec = task.template.get("spec") or {}
    subdomain = spec.get("subdomain") or o.name
    if spec.get("hostname"):
        return [f"{spec['hostname']}.{subdomain}"] if task.replicas else []
    return [f"{o.name}-{task.name}-{index}.{subdomain}" for index in range(task.replicas)]


def job_selector(o: Observed) -> dict[str, str]:
    """Labels that select the pods of a job."""
    return {JOB_NAME: o.name, JOB_NAMESPACE: o.namespace}
