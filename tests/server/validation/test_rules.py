"""Wrong objects, in the words a Kubernetes user expects."""

import copy

import pytest

from volcano.api import kinds
from volcano.server.validation import (
    apply_defaults,
    invalid,
    pod_template_errors,
    validate_create,
    validate_update,
)

LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', "
    "regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def merged(base, change):
    result = copy.deepcopy(base)
    for key, value in change.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result


def meta(kind, name="x"):
    scope = {"namespace": "default"} if kind.namespaced else {}
    return {"metadata": {"name": name, "resourceVersion": "1", **scope}}


def container(**change):
    return {"name": "c", "image": "i", **change}


def pod(*containers, **spec):
    return {**meta(kinds.POD), "spec": {"containers": list(containers) or [container()], **spec}}


def created(kind, obj):
    obj = copy.deepcopy(obj)
    apply_defaults(kind, obj)
    return [f"{cause.field}: {cause.message}" for cause in validate_create(kind, obj)]


def updated(kind, new, old, subresource=""):
    new, old = copy.deepcopy(new), copy.deepcopy(old)
    apply_defaults(kind, new)
    apply_defaults(kind, old)
    found = validate_update(kind, new, old, subresource)
    return [f"{cause.field}: {cause.message}" for cause in found]


def limits(**amounts):
    return container(resources=amounts)


@pytest.mark.parametrize(
    ("obj", "wrong"),
    [
        pytest.param(pod(), [], id="fine"),
        pytest.param({**meta(kinds.POD)}, ["spec.containers: Required value"], id="no-containers"),
        pytest.param(
            pod({"image": "i"}), ["spec.containers[0].name: Required value"], id="no-name"
        ),
        pytest.param(
            pod({"name": "c"}), ["spec.containers[0].image: Required value"], id="no-image"
        ),
        pytest.param(
            pod(container(name="A_b")),
            [f'spec.containers[0].name: Invalid value: "A_b": {LABEL_RULE}'],
            id="container-name",
        ),
        pytest.param(
            pod(container(name="a.b")),
            ['spec.containers[0].name: Invalid value: "a.b": must not contain dots'],
            id="dots-in-a-label",
        ),
        pytest.param(
            pod(container(), container()),
            ['spec.containers[1].name: Duplicate value: "c"'],
            id="duplicate-name",
        ),
        pytest.param(
            merged(pod(), {"metadata": {"name": "Bad_Name"}}),
            [f'metadata.name: Invalid value: "Bad_Name": {SUBDOMAIN_RULE}'],
            id="pod-name",
        ),
        pytest.param(
            pod(restartPolicy="Sometimes"),
            [
                (
                    'spec.restartPolicy: Unsupported value: "Sometimes": '
                    'supported values: "Always", "OnFailure", "Never"'
                )
            ],
            id="restart-policy",
        ),
        pytest.param(
            pod(limits(limits={"cpu": "1"}, requests={"cpu": "2"})),
            [
                (
                    'spec.containers[0].resources.requests: Invalid value: "2": '
                    "must be less than or equal to cpu limit of 1"
                )
            ],
            id="request-over-limit",
        ),
        pytest.param(
            pod(limits(limits={"nvidia.com/gpu": 2}, requests={"nvidia.com/gpu": 1})),
            [
                (
                    'spec.containers[0].resources.requests: Invalid value: "1": '
                    "must be equal to nvidia.com/gpu limit of 2"
                )
            ],
            id="gpus-not-equal",
        ),
        pytest.param(
            pod(limits(requests={"nvidia.com/gpu": 1})),
            [
                (
                    "spec.containers[0].resources.limits: Required value: "
                    "Limit must be set for non overcommitable resources"
                )
            ],
            id="gpus-without-limit",
        ),
        pytest.param(
            pod(limits(limits={"cpu": "-1"}, requests={"cpu": 0})),
            [
                (
                    'spec.containers[0].resources.limits[cpu]: Invalid value: "-1": '
                    "must be greater than or equal to 0"
                ),
                (
                    'spec.containers[0].resources.requests: Invalid value: "0": '
                    "must be less than or equal to cpu limit of -1"
                ),
            ],
            id="negative",
        ),
        pytest.param(
            pod(limits(limits={"nvidia.com/gpu": "500m"})),
            [
                (
                    'spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: "500m": '
                    "must be an integer"
                ),
                (
                    'spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: "500m": '
                    "must be an integer"
                ),
            ],
            id="half-a-gpu",
        ),
        pytest.param(
            pod(limits(requests={"gpu": "1"})),
            [
                (
                    'spec.containers[0].resources.requests[gpu]: Invalid value: "gpu": '
                    "must be a standard resource type or fully qualified"
                ),
                (
                    'spec.containers[0].resources.requests[gpu]: Invalid value: "gpu": '
                    "must be a standard resource for containers"
                ),
            ],
            id="unknown-resource",
        ),
        pytest.param(
            pod(container(ports=[{"containerPort": 70_000}, {"name": "-", "containerPort": 1}])),
            [
                (
                    "spec.containers[0].ports[0].containerPort: Invalid value: 70000: "
                    "must be between 1 and 65535, inclusive"
                ),
                (
                    'spec.containers[0].ports[1].name: Invalid value: "-": '
                    "must contain at least one letter (a-z)"
                ),
                (
                    'spec.containers[0].ports[1].name: Invalid value: "-": '
                    "must not begin or end with a hyphen"
                ),
            ],
            id="ports",
        ),
        pytest.param(
            pod(container(volumeMounts=[{"name": "v", "mountPath": "/a"}])),
            ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
            id="mount-without-volume",
        ),
        pytest.param(
            pod(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}]),
            ["spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"],
            id="two-volume-types",
        ),
        pytest.param(
            pod(container(env=[{"name": "A", "value": "1", "valueFrom": {}}])),
            [
                (
                    'spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of: '
                    "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
                    "`fileKeyRef`"
                )
            ],
            id="env-source",
        ),
        pytest.param(
            pod(tolerations=[{"value": "x"}]),
            [
                (
                    'spec.tolerations[0].operator: Invalid value: "": operator must be Exists when '
                    '`key` is empty, which means "match all values and all keys"'
                )
            ],
            id="toleration",
        ),
        pytest.param(
            pod(container(livenessProbe={})),
            ["spec.containers[0].livenessProbe: Required value: must specify a handler type"],
            id="probe",
        ),
        pytest.param(
            merged(pod(), {"metadata": {"labels": {"a b": "c d"}}}),
            [
                (
                    'metadata.labels: Invalid value: "a b": name part must consist of alphanumeric '
                    "characters, '-', '_' or '.', and must start and end with an alphanumeric "
                    "character "
                    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
                    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
                ),
                (
                    'metadata.labels: Invalid value: "c d": a valid label must be an empty '
                    "string or "
                    "consist of alphanumeric characters, '-', '_' or '.', and must start "
                    "and end with "
                    "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
                    "regex used "
                    "for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                ),
            ],
            id="labels",
        ),
    ],
)
def test_pods(obj, wrong):
    assert created(kinds.POD, obj) == wrong


def test_many_causes_stand_in_brackets_and_one_alone():
    obj = pod({})
    apply_defaults(kinds.POD, obj)
    causes = validate_create(kinds.POD, obj)
    error = invalid(kinds.POD, "x", causes)
    assert error.code == 422
    assert error.message == (
        'Pod "x" is invalid: [spec.containers[0].name: Required value, '
        "spec.containers[0].image: Required value]"
    )
    single = invalid(kinds.DEPLOYMENT, "d", causes[:1])
    assert single.message == (
        'Deployment.apps "d" is invalid: spec.containers[0].name: Required value'
    )
    assert single.to_status()["details"] == {
        "name": "d",
        "group": "apps",
        "kind": "Deployment",
        "causes": [
            {
                "reason": "FieldValueRequired",
                "message": "Required value",
                "field": "spec.containers[0].name",
            }
        ],
    }


def test_pods_hardly_change():
    old = pod(limits(limits={"cpu": "1"}))
    assert updated(kinds.POD, pod(limits(limits={"cpu": "1"})), old) == []
    new = pod(container(image="j", resources={"limits": {"cpu": "1"}}))
    assert updated(kinds.POD, new, old) == []
    (wrong,) = updated(kinds.POD, merged(old, {"spec": {"nodeName": "n"}}), old)
    assert wrong.startswith(
        "spec: Forbidden: pod updates may not change fields other than "
        "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
        "`spec.tolerations` (only additions to existing tolerations),"
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
        "negative)\n"
    )
    assert updated(kinds.POD, pod(container(), container(name="d")), old) == [
        "spec.containers: Forbidden: pod updates may not add or remove containers"
    ]


def test_writes_to_a_subresource_check_metadata_only():
    assert updated(kinds.POD, pod({}), pod(), "status") == []


def workload(**change):
    base = {
        **meta(kinds.DEPLOYMENT),
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [container()]},
            },
        },
    }
    return merged(base, {"spec": change})


def role_binding(**change):
    reference = {"kind": "Role", "name": "r"}
    return {**meta(kinds.ROLE_BINDING), "roleRef": {**reference, **change}}


QUOTA_PATH = "spec.hard[bogus]"


@pytest.mark.parametrize(
    ("kind", "obj", "wrong"),
    [
        pytest.param(kinds.DEPLOYMENT, workload(), [], id="deployment"),
        pytest.param(
            kinds.DEPLOYMENT,
            workload(selector={"matchLabels": {"a": "x"}}),
            [
                (
                    'spec.template.metadata.labels: Invalid value: {"a":"b"}: '
                    "`selector` does not match template `labels`"
                )
            ],
            id="selector-and-labels",
        ),
        pytest.param(
            kinds.DEPLOYMENT,
            workload(replicas=-1),
            ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
            id="replicas",
        ),
        pytest.param(
            kinds.DEPLOYMENT,
            workload(template={"spec": {"restartPolicy": "Never"}}),
            [
                (
                    'spec.template.spec.restartPolicy: Unsupported value: "Never": '
                    'supported values: "Always"'
                )
            ],
            id="template-restarts",
        ),
        pytest.param(
            kinds.BATCH_JOB,
            workload(selector=None),
            [
                (
                    "spec.template.spec.restartPolicy: Required value: "
                    'valid values: "OnFailure", "Never"'
                )
            ],
            id="job-restart-policy",
        ),
        pytest.param(
            kinds.SERVICE, meta(kinds.SERVICE), ["spec.ports: Required value"], id="service-ports"
        ),
        pytest.param(
            kinds.SERVICE,
            {**meta(kinds.SERVICE), "spec": {"ports": [{"port": 0}, {"port": 1, "name": "a"}]}},
            [
                "spec.ports[0].name: Required value",
                "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                (
                    "spec.ports[0].targetPort: Invalid value: 0: "
                    "must be between 1 and 65535, inclusive"
                ),
            ],
            id="service-port",
        ),
        pytest.param(
            kinds.CONFIG_MAP,
            {**meta(kinds.CONFIG_MAP), "data": {"a b": ""}},
            [
                (
                    'data[a b]: Invalid value: "a b": a valid config key must consist of '
                    "alphanumeric "
                    "characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', "
                    "regex used for validation is '[-._a-zA-Z0-9]+')"
                )
            ],
            id="config-key",
        ),
        pytest.param(
            kinds.SECRET,
            {**meta(kinds.SECRET), "type": "kubernetes.io/tls"},
            ["data[tls.crt]: Required value", "data[tls.key]: Required value"],
            id="tls-secret",
        ),
        pytest.param(
            kinds.PERSISTENT_VOLUME_CLAIM,
            meta(kinds.PERSISTENT_VOLUME_CLAIM),
            [
                "spec.accessModes: Required value: at least 1 access mode is required",
                "spec.resources[storage]: Required value",
            ],
            id="claim",
        ),
        pytest.param(
            kinds.RESOURCE_QUOTA,
            {**meta(kinds.RESOURCE_QUOTA), "spec": {"hard": {"bogus": 1, "pods": "1500m"}}},
            [
                (
                    f'{QUOTA_PATH}: Invalid value: "bogus": '
                    "must be a standard resource type or fully qualified"
                ),
                f'{QUOTA_PATH}: Invalid value: "bogus": must be a standard resource for quota',
                'spec.hard[pods]: Invalid value: "1500m": must be an integer',
            ],
            id="quota",
        ),
        pytest.param(
            kinds.LIMIT_RANGE,
            {
                **meta(kinds.LIMIT_RANGE),
                "spec": {
                    "limits": [{"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}}],
                },
            },
            [
                (
                    'spec.limits[0].min[cpu]: Invalid value: "2": '
                    "min value 2 is greater than max value 1"
                )
            ],
            id="limit-range",
        ),
        pytest.param(
            kinds.PRIORITY_CLASS,
            {**meta(kinds.PRIORITY_CLASS), "value": 2_000_000_000},
            ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
            id="priority",
        ),
        pytest.param(
            kinds.POD_DISRUPTION_BUDGET,
            {**meta(kinds.POD_DISRUPTION_BUDGET), "spec": {"minAvailable": "150%"}},
            ['spec.minAvailable: Invalid value: "150%": must not be greater than 100%'],
            id="budget",
        ),
        pytest.param(
            kinds.LEASE,
            {**meta(kinds.LEASE), "spec": {"leaseDurationSeconds": 0}},
            ["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"],
            id="lease",
        ),
        pytest.param(
            kinds.ROLE,
            {**meta(kinds.ROLE), "rules": [{"apiGroups": [""]}]},
            [
                "rules[0].verbs: Required value: verbs must contain at least one value",
                (
                    "rules[0].resources: Required value: "
                    "resource rules must supply at least one resource"
                ),
            ],
            id="role",
        ),
        pytest.param(
            kinds.ROLE_BINDING,
            role_binding(kind="Oops"),
            ['roleRef.kind: Unsupported value: "Oops": supported values: "Role", "ClusterRole"'],
            id="role-binding",
        ),
        pytest.param(
            kinds.NAMESPACE,
            meta(kinds.NAMESPACE, "A"),
            [f'metadata.name: Invalid value: "A": {LABEL_RULE}'],
            id="namespace-name",
        ),
        pytest.param(
            kinds.CUSTOM_RESOURCE_DEFINITION,
            {
                **meta(kinds.CUSTOM_RESOURCE_DEFINITION, "foos.example.com"),
                "spec": {
                    "group": "example.com",
                    "scope": "Namespaced",
                    "names": {"kind": "Foo", "plural": "foos"},
                    "versions": [{"name": "v1", "served": True, "storage": True}],
                },
            },
            ["spec.versions[0].schema.openAPIV3Schema: Required value"],
            id="crd-without-schema",
        ),
        pytest.param(
            kinds.JOB,
            {"metadata": {"namespace": "default"}},
            ["metadata.name: Required value: name or generateName is required"],
            id="custom-kind",
        ),
        pytest.param(
            kinds.QUEUE,
            {"metadata": {"name": "q", "namespace": "default"}},
            ["metadata.namespace: Forbidden: not allowed on this type"],
            id="cluster-scoped",
        ),
    ],
)
def test_kinds(kind, obj, wrong):
    assert created(kind, obj) == wrong


def config(immutable, value):
    return {**meta(kinds.CONFIG_MAP), "immutable": immutable, "data": {"a": value}}


@pytest.mark.parametrize(
    ("kind", "old", "new", "wrong"),
    [
        pytest.param(
            kinds.DEPLOYMENT,
            workload(),
            workload(
                selector={"matchLabels": {"a": "c"}}, template={"metadata": {"labels": {"a": "c"}}}
            ),
            ['spec.selector: Invalid value: {"matchLabels":{"a":"c"}}: field is immutable'],
            id="selector",
        ),
        pytest.param(
            kinds.CONFIG_MAP,
            config(immutable=True, value="1"),
            config(immutable=False, value="2"),
            [
                "immutable: Forbidden: field is immutable when `immutable` is set",
                "data: Forbidden: field is immutable when `immutable` is set",
            ],
            id="immutable-config",
        ),
        pytest.param(
            kinds.PRIORITY_CLASS,
            {**meta(kinds.PRIORITY_CLASS), "value": 1},
            {**meta(kinds.PRIORITY_CLASS), "value": 2},
            ["value: Forbidden: may not be changed in an update."],
            id="priority-value",
        ),
        pytest.param(
            kinds.ROLE_BINDING,
            role_binding(),
            role_binding(name="other"),
            [
                (
                    'roleRef: Invalid value: {"apiGroup":"rbac.authorization.k8s.io",'
                    '"kind":"Role","name":"other"}: cannot change roleRef'
                )
            ],
            id="role-ref",
        ),
        pytest.param(
            kinds.SECRET,
            {**meta(kinds.SECRET), "type": "a"},
            {**meta(kinds.SECRET), "type": "b"},
            ['type: Invalid value: "b": field is immutable'],
            id="secret-type",
        ),
        pytest.param(
            kinds.QUEUE,
            merged(meta(kinds.QUEUE), {"metadata": {"deletionTimestamp": "x"}}),
            merged(
                meta(kinds.QUEUE), {"metadata": {"deletionTimestamp": "x", "finalizers": ["a/b"]}}
            ),
            [
                (
                    "metadata.finalizers: Forbidden: no new finalizers can be added if the "
                    "object is "
                    'being deleted, found new finalizers []string{"a/b"}'
                )
            ],
            id="finalizer-while-deleting",
        ),
        pytest.param(
            kinds.QUEUE,
            meta(kinds.QUEUE),
            {"metadata": {"name": "x"}},
            ['metadata.resourceVersion: Invalid value: "": must be specified for an update'],
            id="no-version",
        ),
    ],
)
def test_updates(kind, old, new, wrong):
    assert updated(kind, new, old) == wrong


def test_templates_of_volcano_tasks():
    assert pod_template_errors({"spec": {"containers": [container()]}}) == []
    template = {"spec": {"containers": [container(env=[{"name": "1a"}], image="")]}}
    kept = copy.deepcopy(template)
    assert pod_template_errors(template) == [
        "template.spec.containers[0].image: Required value",
        (
            'template.spec.containers[0].env[0].name: Invalid value: "1a": a valid environment '
            "variable name must consist of alphabetic characters, digits, '_', '-', or '.', "
            "and must "
            "not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or "
            "'MyEnvName1', regex "
            "used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')"
        ),
    ]
    assert template == kept
