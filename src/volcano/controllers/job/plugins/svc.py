"""svc: lets the pods of a job find each other by name.

A headless Service, host lists in a ConfigMap (mounted at /etc/volcano and given as environment
variables), and a NetworkPolicy that lets only the job's own pods in.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from volcano.api.batch import TaskSpec
from volcano.api.kinds import CONFIG_MAP, NETWORK_POLICY, SERVICE, Kind
from volcano.api.objects import JsonObject
from volcano.api.wellknown import SVC_MOUNT_PATH
from volcano.controllers.effects import Delete, Ensure
from volcano.controllers.job.observed import Observed, owner_reference
from volcano.controllers.job.plugins.base import (
    JobPlugin,
    all_containers,
    hosts_of,
    job_selector,
    read_flags,
)


class Svc(JobPlugin):
    """Publishes the host names of all tasks to all pods of the job."""

    name: ClassVar[str] = "svc"

    def __init__(self, o: Observed, arguments: Sequence[str]) -> None:
        super().__init__(o, arguments)
        flags = read_flags(
            arguments,
            {
                "publish-not-ready-addresses": False,
                "disable-network-policy": False,
                "inject-hosts-env": True,
            },
        )
        self._publish_not_ready = flags["publish-not-ready-addresses"] == "true"
        self._network_policy = flags["disable-network-policy"] != "true"
        self._hosts_env = flags["inject-hosts-env"] == "true"
        self._config_map = f"{o.name}-svc"

    def on_pod(self, pod: JsonObject, task: TaskSpec, index: int) -> None:  # noqa: ARG002 - hook
        """Give the pod its host name, the host lists and their mount."""
        spec = pod["spec"]
        spec["hostname"] = spec.get("hostname") or pod["metadata"]["name"]
        spec["subdomain"] = spec.get("subdomain") or self.o.name
        volume = {"name": self._config_map, "configMap": {"name": self._config_map}}
        spec["volumes"] = [*(spec.get("volumes") or ()), volume]
        mount = {"name": self._config_map, "mountPath": SVC_MOUNT_PATH}
        variables = self._variables() if self._hosts_env else []
        for container in all_containers(pod):
            container["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
            if variables:
                container["env"] = [*(container.get("env") or ()), *variables]

    def _variables(self) -> list[JsonObject]:
        return [
            {
                "name": key,
                "valueFrom": {"configMapKeyRef": {"name": self._config_map, "key": key}},
            }
            for task in self.o.spec.tasks
            for key in (_key(task, "HOSTS"), _key(task, "NUM"))
        ]

    def objects(self) -> Iterable[Ensure]:
        """ConfigMap (kept up to date as tasks are scaled), Service, NetworkPolicy."""
        selector = {"matchLabels": job_selector(self.o)}
        yield self._ensure(CONFIG_MAP, self._config_map, data=self._data())
        service = {
            "clusterIP": "None",
            "selector": job_selector(self.o),
            "publishNotReadyAddresses": self._publish_not_ready,
        }
        yield self._ensure(SERVICE, self.o.name, spec=service)
        if self._network_policy:
            policy = {
                "podSelector": selector,
                "ingress": [{"from": [{"podSelector": selector}]}],
                "policyTypes": ["Ingress"],
            }
            yield self._ensure(NETWORK_POLICY, self.o.name, spec=policy)

    def leftovers(self) -> Iterable[Delete]:
        """All of them."""
        yield Delete(CONFIG_MAP, self.o.namespace, self._config_map)
        yield Delete(SERVICE, self.o.namespace, self.o.name)
        if self._network_policy:
            yield Delete(NETWORK_POLICY, self.o.namespace, self.o.name)

    def _ensure(self, kind: Kind, name: str, **content: JsonObject) -> Ensure:
        meta = {
            "name": name,
            "namespace": self.o.namespace,
            "ownerReferences": [owner_reference(self.o.raw)],
        }
        obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, **content}
        # Of what is there already only the host lists are brought up to date.
        fields = ("data",) if "data" in content else ()
        return Ensure(kind, obj, fields, about=self.o.raw, reason="PluginError")

    def _data(self) -> dict[str, str]:
        data: dict[str, str] = {}
        for task in self.o.spec.tasks:
            hosts = hosts_of(self.o, task)
            data[f"{_word(task)}.host"] = "\n".join(hosts)
            data[_key(task, "HOSTS")] = ",".join(hosts)
            data[_key(task, "NUM")] = str(len(hosts))
        return data


def _word(task: TaskSpec) -> str:
    return task.name.replace("-", "_")


def _key(task: TaskSpec, what: str) -> str:
    return f"VC_{_word(task).upper()}_{what}"
