"""Core objects as kube-apiserver stores them."""

import pytest

from volcano.api import kinds
from volcano.server.validation import apply_defaults, qos_class


def defaulted(kind, obj):
    apply_defaults(kind, obj)
    return obj


def test_a_small_pod():
    pod = {
        "metadata": {"name": "p"},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "busybox",
                    "ports": [{"containerPort": 80}],
                    "resources": {"limits": {"cpu": 4, "memory": "1024Mi", "nvidia.com/gpu": 1}},
                    "livenessProbe": {"httpGet": {"port": 80}},
                    "env": [{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "spec.x"}}}],
                }
            ],
            "serviceAccountName": "sa",
            "volumes": [
                {"name": "e"},
                {"name": "m", "configMap": {"name": "m"}},
                {"name": "h", "hostPath": {"path": "/x"}},
            ],
        },
        "status": {"phase": "Pending"},
    }
    amounts = {"cpu": "4", "memory": "1Gi", "nvidia.com/gpu": "1"}
    assert defaulted(kinds.POD, pod) == {
        "metadata": {"name": "p"},
        "spec": {
            "containers": [
                {
                    "name": "c",
                    "image": "busybox",
                    "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    "resources": {"limits": amounts, "requests": amounts},
                    "livenessProbe": {
                        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
                        "timeoutSeconds": 1,
                        "periodSeconds": 10,
                        "successThreshold": 1,
                        "failureThreshold": 3,
                    },
                    "env": [
                        {
                            "name": "N",
                            "valueFrom": {"fieldRef": {"fieldPath": "spec.x", "apiVersion": "v1"}},
                        }
                    ],
                    "imagePullPolicy": "Always",
                    "terminationMessagePath": "/dev/termination-log",
                    "terminationMessagePolicy": "File",
                }
            ],
            "serviceAccountName": "sa",
            "serviceAccount": "sa",
            "volumes": [
                {"name": "e", "emptyDir": {}},
                {"name": "m", "configMap": {"name": "m", "defaultMode": 420}},
                {"name": "h", "hostPath": {"path": "/x", "type": ""}},
            ],
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always",
            "securityContext": {},
            "terminationGracePeriodSeconds": 30,
            "schedulerName": "default-scheduler",
            "enableServiceLinks": True,
        },
        "status": {"phase": "Pending", "qosClass": "Guaranteed"},
    }


def test_defaults_are_stable():
    pod = {"spec": {"containers": [{"name": "c", "image": "a:1"}], "volumes": [{"name": "v"}]}}
    once = defaulted(kinds.POD, pod)
    import copy

    assert defaulted(kinds.POD, copy.deepcopy(once)) == once


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("a", "Always"),
        ("a:latest", "Always"),
        ("a:1", "IfNotPresent"),
        ("host:5000/a", "Always"),
        ("a@sha256:00", "IfNotPresent"),
    ],
)
def test_pull_policy(image, policy):
    pod = defaulted(kinds.POD, {"spec": {"containers": [{"name": "c", "image": image}]}})
    assert pod["spec"]["containers"][0]["imagePullPolicy"] == policy


@pytest.mark.parametrize(
    ("limits", "requests", "want"),
    [
        ({}, {}, "BestEffort"),
        ({"nvidia.com/gpu": "1"}, {}, "BestEffort"),
        ({}, {"cpu": "1"}, "Burstable"),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}, "Guaranteed"),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "500m", "memory": "1Gi"}, "Burstable"),
    ],
)
def test_qos(limits, requests, want):
    resources = {"limits": limits, "requests": requests}
    assert qos_class({"containers": [{"resources": resources}]}) == want


def test_namespace_is_labelled_with_its_name():
    namespace = defaulted(kinds.NAMESPACE, {"metadata": {"name": "a", "labels": {"x": "y"}}})
    assert namespace["metadata"]["labels"] == {"x": "y", "kubernetes.io/metadata.name": "a"}


def test_secret_texts_become_data():
    secret = {"data": {"b": "Yg=="}, "stringData": {"a": "ä", "b": "new"}}
    assert defaulted(kinds.SECRET, secret) == {
        "data": {"a": "w6Q=", "b": "bmV3"},
        "type": "Opaque",
    }


def test_service():
    service = {"spec": {"ports": [{"port": 80}], "clusterIP": "None"}}
    assert defaulted(kinds.SERVICE, service)["spec"] == {
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        "clusterIP": "None",
        "clusterIPs": ["None"],
        "sessionAffinity": "None",
        "type": "ClusterIP",
        "internalTrafficPolicy": "Cluster",
    }


def test_deployment():
    spec = defaulted(kinds.DEPLOYMENT, {"spec": {"template": {"spec": {}}}})["spec"]
    assert spec["replicas"] == 1
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }
    assert (spec["revisionHistoryLimit"], spec["progressDeadlineSeconds"]) == (10, 600)
    assert "enableServiceLinks" not in spec["template"]["spec"]


def test_batch_job():
    job = {"spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {}}}}
    spec = defaulted(kinds.BATCH_JOB, job)["spec"]
    assert job["metadata"]["labels"] == {"a": "b"}
    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (1, 1, 6)


def test_limit_range_fills_in_from_bounds():
    limit = {"type": "Container", "max": {"cpu": 2}, "min": {"memory": "1000Ki"}}
    assert defaulted(kinds.LIMIT_RANGE, {"spec": {"limits": [limit]}})["spec"]["limits"] == [
        {
            "type": "Container",
            "max": {"cpu": "2"},
            "min": {"memory": "1000Ki"},
            "default": {"cpu": "2"},
            "defaultRequest": {"memory": "1000Ki", "cpu": "2"},
        }
    ]


def test_definition_gets_its_names():
    crd = {
        "spec": {
            "names": {"kind": "Foo", "plural": "foos"},
            "versions": [{"name": "v1"}, {"name": "v2", "storage": True}],
        }
    }
    defaulted(kinds.CUSTOM_RESOURCE_DEFINITION, crd)
    assert crd["spec"]["names"]["singular"] == "foo"
    assert crd["spec"]["names"]["listKind"] == "FooList"
    assert crd["status"] == {"storedVersions": ["v2"]}


@pytest.mark.parametrize("kind", kinds.CORE_KINDS, ids=lambda kind: kind.kind)
def test_no_kind_needs_more_than_metadata(kind):
    apply_defaults(kind, {"metadata": {"name": "x"}})
