"""The job that `vcctl job run` makes from flags (spec cli, 2.1): pure, texts in, object out."""

from dataclasses import dataclass

from volcano.api import kinds
from volcano.api.objects import JsonObject
from volcano.base.errors import ConfigError
from volcano.resources.quantity import canonical


@dataclass(frozen=True, slots=True)
class JobFlags:
    """What the flags say; resources as `name=quantity` joined by commas."""

    name: str
    namespace: str
    image: str
    min_available: int
    replicas: int
    requests: str
    limits: str
    scheduler: str


def parse_resources(text: str) -> dict[str, str]:
    """`cpu=1000m,memory=100Mi` as a ResourceList with canonical quantities; empty for no text.

    Raises:
        ConfigError: an item is no pair, or its quantity is none.
    """
    amounts: dict[str, str] = {}
    for item in text.split(",") if text else ():
        name, separator, quantity = item.partition("=")
        if not separator or "=" in quantity:
            raise ConfigError(f"invalid argument syntax {item}, expected <resource>=<value>")
        try:
            amounts[name] = canonical(quantity)
        except ValueError as error:
            raise ConfigError(str(error)) from error
    return amounts


def build_job(flags: JobFlags) -> JsonObject:
    """A job of one task, whose name and queue admission fills in."""
    container = {
        "name": flags.name,
        "image": flags.image,
        "imagePullPolicy": "IfNotPresent",
        "resources": {
            "requests": parse_resources(flags.requests),
            "limits": parse_resources(flags.limits),
        },
    }
    template = {
        "metadata": {"name": flags.name, "labels": {"job.volcano.sh": flags.name}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return {
        "apiVersion": kinds.JOB.api_version,
        "kind": kinds.JOB.kind,
        "metadata": {"name": flags.name, "namespace": flags.namespace},
        "spec": {
            "minAvailable": flags.min_available,
            "schedulerName": flags.scheduler,
            "tasks": [{"replicas": flags.replicas, "template": template}],
        },
    }
