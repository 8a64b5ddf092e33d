"""One row per printer: the headers and cells of each built-in kind."""

import pytest

from volcano.api import kinds
from volcano.api.kinds import Kind
from volcano.api.objects import JsonObject
from volcano.server import tables
from volcano.server.registry import ServedKind

NOW = 1_767_225_900.0  # 2026-01-01T00:05:00Z
START = "2026-01-01T00:00:00Z"
TEMPLATE = {
    "spec": {
        "containers": [{"name": "a", "image": "one"}, {"name": "b", "image": "two"}],
        "nodeSelector": {"disk": "ssd"},
    }
}
SELECTOR = {"matchLabels": {"app": "web"}}


def check_table(kind: Kind, obj: JsonObject, text: str) -> None:
    """`text`: header | cell lines; wide columns are marked with a star."""
    entry = ServedKind(kind, {})
    meta = {"name": "x", "creationTimestamp": START, **obj.pop("metadata", {})}
    cells = tables.row(entry, {"metadata": meta, **obj}, NOW)["cells"]
    columns = tables.columns(entry)
    assert len(cells) == len(columns)
    shown = [
        f"{column.name}{'*' if column.priority else ''}={cell}"
        for column, cell in zip(columns, cells, strict=True)
    ]
    assert " | ".join(shown) == text


def ready(value: str) -> JsonObject:
    return {"conditions": [{"type": "Ready", "status": value}]}


CASES = {
    "node": (
        kinds.NODE,
        {
            "metadata": {"labels": {"node-role.kubernetes.io/gpu": "", "kubernetes.io/role": "a"}},
            "spec": {"unschedulable": True},
            "status": {
                **ready("True"),
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": {"kubeletVersion": "v1", "osImage": "Debian", "kernelVersion": "6"},
            },
        },
        (
            "Name=x | Status=Ready,SchedulingDisabled | Roles=a,gpu | Age=5m | Version=v1 | "
            "Internal-IP*=10.0.0.1 | External-IP*=<none> | OS-Image*=Debian | Kernel-Version*=6 | "
            "Container-Runtime*=<unknown>"
        ),
    ),
    "node_silent": (
        kinds.NODE,
        {},
        (
            "Name=x | Status=Unknown | Roles=<none> | Age=5m | Version= | Internal-IP*=<none> | "
            "External-IP*=<none> | OS-Image*=<unknown> | Kernel-Version*=<unknown> | "
            "Container-Runtime*=<unknown>"
        ),
    ),
    "namespace": (
        kinds.NAMESPACE,
        {"status": {"phase": "Active"}},
        "Name=x | Status=Active | Age=5m",
    ),
    "config_map": (
        kinds.CONFIG_MAP,
        {"data": {"a": "", "b": ""}, "binaryData": {"c": ""}},
        "Name=x | Data=3 | Age=5m",
    ),
    "secret": (
        kinds.SECRET,
        {"type": "Opaque", "data": {"a": ""}},
        "Name=x | Type=Opaque | Data=1 | Age=5m",
    ),
    "service_account": (kinds.SERVICE_ACCOUNT, {}, "Name=x | Secrets=0 | Age=5m"),
    "service": (
        kinds.SERVICE,
        {
            "spec": {
                "type": "NodePort",
                "clusterIP": "10.1.1.1",
                "selector": {"app": "web"},
                "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53}],
            }
        },
        (
            "Name=x | Type=NodePort | Cluster-IP=10.1.1.1 | External-IP=<none> | "
            "Port(s)=80:30080/TCP,53/TCP | Age=5m | Selector*=app=web"
        ),
    ),
    "service_headless": (
        kinds.SERVICE,
        {"spec": {"clusterIP": "None"}},
        (
            "Name=x | Type=ClusterIP | Cluster-IP=None | External-IP=<none> | Port(s)=<none> | "
            "Age=5m | Selector*=<none>"
        ),
    ),
    "service_pending": (
        kinds.SERVICE,
        {"spec": {"type": "LoadBalancer", "clusterIP": "10.1.1.1"}},
        (
            "Name=x | Type=LoadBalancer | Cluster-IP=10.1.1.1 | External-IP=<pending> | "
            "Port(s)=<none> | Age=5m | Selector*=<none>"
        ),
    ),
    "deployment": (
        kinds.DEPLOYMENT,
        {
            "spec": {"replicas": 3, "template": TEMPLATE, "selector": SELECTOR},
            "status": {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1},
        },
        (
            "Name=x | Ready=1/3 | Up-to-date=2 | Available=1 | Age=5m | Containers*=a,b | "
            "Images*=one,two | Selector*=app=web"
        ),
    ),
    "replica_set": (
        kinds.REPLICA_SET,
        {
            "spec": {"replicas": 3, "template": TEMPLATE, "selector": SELECTOR},
            "status": {"replicas": 2, "readyReplicas": 1},
        },
        (
            "Name=x | Desired=3 | Current=2 | Ready=1 | Age=5m | Containers*=a,b | "
            "Images*=one,two | "
            "Selector*=app=web"
        ),
    ),
    "replication_controller": (
        kinds.REPLICATION_CONTROLLER,
        {"spec": {"replicas": 3, "template": TEMPLATE, "selector": {"app": "web"}}},
        (
            "Name=x | Desired=3 | Current=0 | Ready=0 | Age=5m | Containers*=a,b | "
            "Images*=one,two | "
            "Selector*=app=web"
        ),
    ),
    "stateful_set": (
        kinds.STATEFUL_SET,
        {"spec": {"template": TEMPLATE}, "status": {"readyReplicas": 1}},
        "Name=x | Ready=1/1 | Age=5m | Containers*=a,b | Images*=one,two",
    ),
    "daemon_set": (
        kinds.DAEMON_SET,
        {
            "spec": {"template": TEMPLATE, "selector": SELECTOR},
            "status": {"desiredNumberScheduled": 3, "numberReady": 2},
        },
        (
            "Name=x | Desired=3 | Current=0 | Ready=2 | Up-to-date=0 | Available=0 | "
            "Node Selector=disk=ssd | Age=5m | Containers*=a,b | Images*=one,two | "
            "Selector*=app=web"
        ),
    ),
    "batch_job": (
        kinds.BATCH_JOB,
        {
            "spec": {"completions": 2, "template": TEMPLATE, "selector": SELECTOR},
            "status": {
                "succeeded": 2,
                "startTime": START,
                "completionTime": "2026-01-01T00:01:30Z",
                "conditions": [{"type": "Complete", "status": "True"}],
            },
        },
        (
            "Name=x | Status=Complete | Completions=2/2 | Duration=90s | Age=5m | "
            "Containers*=a,b | "
            "Images*=one,two | Selector*=app=web"
        ),
    ),
    "batch_job_running": (
        kinds.BATCH_JOB,
        {"spec": {"parallelism": 3}, "status": {"startTime": START}},
        (
            "Name=x | Status=Running | Completions=0/1 of 3 | Duration=5m | Age=5m | "
            "Containers*= | "
            "Images*= | Selector*=<none>"
        ),
    ),
    "cron_job": (
        kinds.BATCH_CRON_JOB,
        {
            "spec": {
                "schedule": "* * * * *",
                "suspend": False,
                "jobTemplate": {"spec": {"template": TEMPLATE}},
            },
            "status": {"active": [{}], "lastScheduleTime": "2026-01-01T00:04:00Z"},
        },
        (
            "Name=x | Schedule=* * * * * | Timezone=<none> | Suspend=False | Active=1 | "
            "Last Schedule=60s | Age=5m | Containers*=a,b | Images*=one,two | Selector*=<none>"
        ),
    ),
    "event": (
        kinds.EVENT,
        {
            "type": "Warning",
            "reason": "FailedScheduling",
            "message": "0/4 nodes\n",
            "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec"},
            "source": {"component": "volcano", "host": "h"},
            "firstTimestamp": START,
            "lastTimestamp": "2026-01-01T00:04:00Z",
            "count": 4,
        },
        (
            "Last Seen=60s | Type=Warning | Reason=FailedScheduling | Object=pod/p | "
            "Subobject*=spec | "
            "Source*=volcano, h | Message=0/4 nodes | First Seen*=5m | Count*=4 | Name*=x"
        ),
    ),
    "event_new": (
        kinds.EVENTS_EVENT,
        {
            "type": "Normal",
            "reason": "Started",
            "note": "said",
            "regarding": {"kind": "Job", "name": "j"},
            "reportingController": "volcano",
            "eventTime": START,
            "series": {"count": 7, "lastObservedTime": "2026-01-01T00:04:30.000000Z"},
        },
        (
            "Last Seen=30s | Type=Normal | Reason=Started | Object=job/j | Subobject*= | "
            "Source*=volcano | Message=said | First Seen*=5m | Count*=7 | Name*=x"
        ),
    ),
    "volume": (
        kinds.PERSISTENT_VOLUME,
        {
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce", "ReadOnlyMany"],
                "persistentVolumeReclaimPolicy": "Retain",
                "claimRef": {"namespace": "n", "name": "c"},
                "storageClassName": "fast",
                "volumeMode": "Filesystem",
            },
            "status": {"phase": "Bound"},
        },
        (
            "Name=x | Capacity=1Gi | Access Modes=RWO,ROX | Reclaim Policy=Retain | Status=Bound | "
            "Claim=n/c | StorageClass=fast | VolumeAttributesClass=<unset> | Reason= | Age=5m | "
            "VolumeMode*=Filesystem"
        ),
    ),
    "claim": (
        kinds.PERSISTENT_VOLUME_CLAIM,
        {
            "spec": {"volumeName": "v", "storageClassName": "fast"},
            "status": {
                "phase": "Bound",
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteMany"],
            },
        },
        (
            "Name=x | Status=Bound | Volume=v | Capacity=1Gi | Access Modes=RWX | "
            "StorageClass=fast | "
            "VolumeAttributesClass=<unset> | Age=5m | VolumeMode*=<unset>"
        ),
    ),
    "storage_class": (
        kinds.STORAGE_CLASS,
        {
            "metadata": {
                "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
            },
            "provisioner": "local",
            "volumeBindingMode": "Immediate",
        },
        (
            "Name=x (default) | Provisioner=local | ReclaimPolicy=Delete | "
            "VolumeBindingMode=Immediate | AllowVolumeExpansion=False | Age=5m"
        ),
    ),
    "priority_class": (
        kinds.PRIORITY_CLASS,
        {"value": 1000, "preemptionPolicy": "Never"},
        "Name=x | Value=1000 | Global-Default=False | Age=5m | PreemptionPolicy=Never",
    ),
    "lease": (
        kinds.LEASE,
        {"spec": {"holderIdentity": "me"}},
        "Name=x | Holder=me | Age=5m",
    ),
    "disruption_budget": (
        kinds.POD_DISRUPTION_BUDGET,
        {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 2}},
        "Name=x | Min Available=50% | Max Unavailable=N/A | Allowed Disruptions=2 | Age=5m",
    ),
    "network_policy": (
        kinds.NETWORK_POLICY,
        {
            "spec": {
                "podSelector": {
                    "matchExpressions": [
                        {"key": "a", "operator": "In", "values": ["2", "1"]},
                        {"key": "b", "operator": "DoesNotExist"},
                    ]
                }
            }
        },
        "Name=x | Pod-Selector=!b,a in (1,2) | Age=5m",
    ),
    "quota": (
        kinds.RESOURCE_QUOTA,
        {"status": {"hard": {"pods": "4", "cpu": "2", "limits.cpu": "8"}, "used": {"cpu": "1"}}},
        "Name=x | Request=cpu: 1/2, pods: 0/4 | Limit=limits.cpu: 0/8 | Age=5m",
    ),
    "limit_range": (kinds.LIMIT_RANGE, {}, f"Name=x | Created At={START}"),
    "endpoints": (
        kinds.ENDPOINTS,
        {
            "subsets": [
                {
                    "addresses": [{"ip": f"10.0.0.{number}"} for number in range(4)],
                    "ports": [{"port": 80}],
                }
            ]
        },
        "Name=x | Endpoints=10.0.0.0:80,10.0.0.1:80,10.0.0.2:80 + 1 more... | Age=5m",
    ),
    "endpoint_slice": (
        kinds.ENDPOINT_SLICE,
        {
            "addressType": "IPv4",
            "ports": [{"port": 80}],
            "endpoints": [{"addresses": ["10.0.0.1"]}],
        },
        "Name=x | AddressType=IPv4 | Ports=80 | Endpoints=10.0.0.1 | Age=5m",
    ),
    "crd": (kinds.CUSTOM_RESOURCE_DEFINITION, {}, f"Name=x | Created At={START}"),
    "role": (kinds.ROLE, {}, f"Name=x | Created At={START}"),
    "cluster_role": (kinds.CLUSTER_ROLE, {}, f"Name=x | Created At={START}"),
    "role_binding": (
        kinds.ROLE_BINDING,
        {
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [
                {"kind": "User", "name": "ann"},
                {"kind": "User", "name": "bob"},
                {"kind": "Group", "name": "dev"},
                {"kind": "ServiceAccount", "namespace": "n", "name": "s"},
            ],
        },
        "Name=x | Role=Role/r | Age=5m | Users*=ann, bob | Groups*=dev | ServiceAccounts*=n/s",
    ),
    "cluster_role_binding": (
        kinds.CLUSTER_ROLE_BINDING,
        {"roleRef": {"kind": "ClusterRole", "name": "r"}},
        "Name=x | Role=ClusterRole/r | Age=5m | Users*= | Groups*= | ServiceAccounts*=",
    ),
    "mutating_webhook": (
        kinds.MUTATING_WEBHOOK,
        {"webhooks": [{}, {}]},
        "Name=x | Webhooks=2 | Age=5m",
    ),
    "validating_webhook": (kinds.VALIDATING_WEBHOOK, {}, "Name=x | Webhooks=0 | Age=5m"),
}


@pytest.mark.parametrize(("kind", "obj", "text"), CASES.values(), ids=CASES.keys())
def test_printer(kind: Kind, obj: JsonObject, text: str) -> None:
    check_table(kind, obj, text)


def test_every_stored_builtin_kind_has_a_case() -> None:
    covered = {kind for kind, _, _ in CASES.values()} | {kinds.POD}
    stored = {kind for kind in kinds.CORE_KINDS if "list" in kind.verbs}
    assert stored == covered


@pytest.mark.parametrize("kind", kinds.CORE_KINDS, ids=lambda kind: kind.resource)
def test_an_empty_object_can_be_shown(kind: Kind) -> None:
    entry = ServedKind(kind, {})
    cells = tables.row(entry, {"metadata": {"name": "x"}}, NOW)["cells"]
    assert len(cells) == len(tables.columns(entry))
