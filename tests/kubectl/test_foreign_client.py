"""The API as another project's client uses it: kubernetes_asyncio."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import yaml
from kubernetes_asyncio import client, config, watch

from tests.kubectl.manifests import IDLE_POD, WAITING_JOB
from tests.running import RunningCluster

pytestmark = [pytest.mark.process, pytest.mark.anyio]
VCJOB: dict[str, Any] = {"group": "batch.volcano.sh", "version": "v1alpha1", "plural": "jobs"}


@pytest.fixture
async def api(cluster: RunningCluster) -> AsyncIterator[client.ApiClient]:
    settings = client.Configuration()
    await config.load_kube_config(str(cluster.kubeconfig), client_configuration=settings)
    async with client.ApiClient(settings) as api:
        yield api


async def test_pod(api: client.ApiClient, namespace: str) -> None:
    core = client.CoreV1Api(api)
    start = (await core.list_namespaced_pod(namespace)).metadata.resource_version
    pod = await core.create_namespaced_pod(namespace, yaml.safe_load(IDLE_POD))
    assert (pod.spec.scheduler_name, pod.status.phase) == ("nobody", "Pending")
    (listed,) = (await core.list_namespaced_pod(namespace, label_selector="app=shop")).items
    assert listed.metadata.uid == pod.metadata.uid
    await core.patch_namespaced_pod("idle", namespace, {"metadata": {"labels": {"seen": "yes"}}})
    await core.delete_namespaced_pod("idle", namespace)
    seen = []
    async with watch.Watch() as stream:
        async for event in stream.stream(
            core.list_namespaced_pod, namespace, resource_version=start, timeout_seconds=20
        ):
            seen.append((event["type"], event["object"].metadata.labels.get("seen")))
            if event["type"] == "DELETED":
                break
    assert seen == [("ADDED", None), ("MODIFIED", "yes"), ("DELETED", "yes")]
    with pytest.raises(client.ApiException) as refused:
        await core.read_namespaced_pod("idle", namespace)
    assert (refused.value.status, refused.value.reason) == (404, "Not Found")


async def test_volcano_job(api: client.ApiClient, namespace: str) -> None:
    custom = client.CustomObjectsApi(api)
    place = {**VCJOB, "namespace": namespace}
    start = (await custom.list_namespaced_custom_object(**place))["metadata"]["resourceVersion"]
    await custom.create_namespaced_custom_object(**place, body=yaml.safe_load(WAITING_JOB))
    (job,) = (await custom.list_namespaced_custom_object(**place))["items"]
    assert (job["spec"]["queue"], job["spec"]["maxRetry"]) == ("default", 3)
    await custom.delete_namespaced_custom_object(**place, name="waiting")
    kinds = []
    async with watch.Watch() as stream:
        async for event in stream.stream(
            custom.list_namespaced_custom_object,
            **place,
            resource_version=start,
            timeout_seconds=20,
        ):
            kinds.append(event["type"])
            if event["type"] == "DELETED":
                break
    assert (kinds[0], kinds[-1]) == ("ADDED", "DELETED")
    with pytest.raises(client.ApiException) as refused:
        await custom.create_namespaced_custom_object(
            **place, body={**job, "metadata": {"name": "x"}, "spec": {"minAvailable": 1}}
        )
    assert "No task specified in job spec" in str(refused.value.body)
