"""Go names that decoding errors of kube-apiserver show: named string types, embedded structs.

OpenAPI knows these types only as `string`; the table says what the Go structs call them.
"""

from collections.abc import Mapping

_NAMED: Mapping[str, Mapping[str, str]] = {
    "AppArmorProfile": {"type": "v1.AppArmorProfileType"},
    "AttachedVolume": {"name": "v1.UniqueVolumeName"},
    "AzureDiskVolumeSource": {
        "cachingMode": "v1.AzureDataDiskCachingMode",
        "kind": "v1.AzureDataDiskKind",
    },
    "Capabilities": {"add": "[]v1.Capability", "drop": "[]v1.Capability"},
    "Condition": {"status": "v1.ConditionStatus"},
    "ConfigMapNodeConfigSource": {"uid": "types.UID"},
    "Container": {
        "imagePullPolicy": "v1.PullPolicy",
        "restartPolicy": "v1.ContainerRestartPolicy",
        "terminationMessagePolicy": "v1.TerminationMessagePolicy",
    },
    "ContainerPort": {"protocol": "v1.Protocol"},
    "ContainerResizePolicy": {
        "resourceName": "v1.ResourceName",
        "restartPolicy": "v1.ResourceResizeRestartPolicy",
    },
    "ContainerRestartRule": {"action": "v1.ContainerRestartRuleAction"},
    "ContainerRestartRuleOnExitCodes": {"operator": "v1.ContainerRestartRuleOnExitCodesOperator"},
    "ContainerStatus": {"stopSignal": "v1.Signal"},
    "CronJobSpec": {"concurrencyPolicy": "v1.ConcurrencyPolicy"},
    "DaemonSetUpdateStrategy": {"type": "v1.DaemonSetUpdateStrategyType"},
    "DeploymentStrategy": {"type": "v1.DeploymentStrategyType"},
    "EmptyDirVolumeSource": {"medium": "v1.StorageMedium"},
    "EndpointPort": {"protocol": "v1.Protocol"},
    "EndpointSlice": {"addressType": "v1.AddressType"},
    "EphemeralContainer": {
        "imagePullPolicy": "v1.PullPolicy",
        "restartPolicy": "v1.ContainerRestartPolicy",
        "terminationMessagePolicy": "v1.TerminationMessagePolicy",
    },
    "HTTPGetAction": {"scheme": "v1.URIScheme"},
    "HostPathVolumeSource": {"type": "v1.HostPathType"},
    "ImageVolumeSource": {"pullPolicy": "v1.PullPolicy"},
    "JobSpec": {
        "completionMode": "v1.CompletionMode",
        "podReplacementPolicy": "v1.PodReplacementPolicy",
    },
    "LabelSelectorRequirement": {"operator": "v1.LabelSelectorOperator"},
    "LeaseSpec": {"strategy": "v1.CoordinatedLeaseStrategy"},
    "Lifecycle": {"stopSignal": "v1.Signal"},
    "LimitRangeItem": {"type": "v1.LimitType"},
    "LoadBalancerIngress": {"ipMode": "v1.LoadBalancerIPMode"},
    "ManagedFieldsEntry": {"operation": "v1.ManagedFieldsOperationType"},
    "ModifyVolumeStatus": {"status": "v1.PersistentVolumeClaimModifyVolumeStatus"},
    "MutatingWebhook": {
        "failurePolicy": "v1.FailurePolicyType",
        "matchPolicy": "v1.MatchPolicyType",
        "reinvocationPolicy": "v1.ReinvocationPolicyType",
        "sideEffects": "v1.SideEffectClass",
    },
    "NamespaceSpec": {"finalizers": "[]v1.FinalizerName"},
    "NamespaceStatus": {"phase": "v1.NamespacePhase"},
    "NetworkPolicyPort": {"protocol": "v1.Protocol"},
    "NetworkPolicySpec": {"policyTypes": "[]v1.PolicyType"},
    "NodeAddress": {"type": "v1.NodeAddressType"},
    "NodeSelectorRequirement": {"operator": "v1.NodeSelectorOperator"},
    "NodeStatus": {"phase": "v1.NodePhase", "volumesInUse": "[]v1.UniqueVolumeName"},
    "ObjectMeta": {"uid": "types.UID"},
    "ObjectReference": {"uid": "types.UID"},
    "OwnerReference": {"uid": "types.UID"},
    "PersistentVolumeClaimSpec": {
        "accessModes": "[]v1.PersistentVolumeAccessMode",
        "volumeMode": "v1.PersistentVolumeMode",
    },
    "PersistentVolumeClaimStatus": {
        "accessModes": "[]v1.PersistentVolumeAccessMode",
        "phase": "v1.PersistentVolumeClaimPhase",
    },
    "PersistentVolumeSpec": {
        "accessModes": "[]v1.PersistentVolumeAccessMode",
        "persistentVolumeReclaimPolicy": "v1.PersistentVolumeReclaimPolicy",
        "volumeMode": "v1.PersistentVolumeMode",
    },
    "PersistentVolumeStatus": {"phase": "v1.PersistentVolumePhase"},
    "PodDisruptionBudgetSpec": {"unhealthyPodEvictionPolicy": "v1.UnhealthyPodEvictionPolicyType"},
    "PodFailurePolicyOnExitCodesRequirement": {
        "operator": "v1.PodFailurePolicyOnExitCodesOperator"
    },
    "PodFailurePolicyOnPodConditionsPattern": {
        "status": "v1.ConditionStatus",
        "type": "v1.PodConditionType",
    },
    "PodFailurePolicyRule": {"action": "v1.PodFailurePolicyAction"},
    "PodOS": {"name": "v1.OSName"},
    "PodReadinessGate": {"conditionType": "v1.PodConditionType"},
    "PodSecurityContext": {
        "fsGroupChangePolicy": "v1.PodFSGroupChangePolicy",
        "seLinuxChangePolicy": "v1.PodSELinuxChangePolicy",
        "supplementalGroupsPolicy": "v1.SupplementalGroupsPolicy",
    },
    "PodSpec": {
        "dnsPolicy": "v1.DNSPolicy",
        "preemptionPolicy": "v1.PreemptionPolicy",
        "restartPolicy": "v1.RestartPolicy",
    },
    "PodStatus": {
        "phase": "v1.PodPhase",
        "qosClass": "v1.PodQOSClass",
        "resize": "v1.PodResizeStatus",
    },
    "PortStatus": {"protocol": "v1.Protocol"},
    "PriorityClass": {"preemptionPolicy": "v1.PreemptionPolicy"},
    "ResourceHealth": {"health": "v1.ResourceHealthStatus", "resourceID": "v1.ResourceID"},
    "ResourceQuotaSpec": {"scopes": "[]v1.ResourceQuotaScope"},
    "ResourceStatus": {"name": "v1.ResourceName"},
    "RuleWithOperations": {"operations": "[]v1.OperationType", "scope": "v1.ScopeType"},
    "ScopedResourceSelectorRequirement": {
        "operator": "v1.ScopeSelectorOperator",
        "scopeName": "v1.ResourceQuotaScope",
    },
    "SeccompProfile": {"type": "v1.SeccompProfileType"},
    "Secret": {"type": "v1.SecretType"},
    "SecurityContext": {"procMount": "v1.ProcMountType"},
    "ServicePort": {"protocol": "v1.Protocol"},
    "ServiceSpec": {
        "externalTrafficPolicy": "v1.ServiceExternalTrafficPolicy",
        "internalTrafficPolicy": "v1.ServiceInternalTrafficPolicy",
        "ipFamilies": "[]v1.IPFamily",
        "ipFamilyPolicy": "v1.IPFamilyPolicy",
        "sessionAffinity": "v1.ServiceAffinity",
        "type": "v1.ServiceType",
    },
    "StatefulSetPersistentVolumeClaimRetentionPolicy": {
        "whenDeleted": "v1.PersistentVolumeClaimRetentionPolicyType",
        "whenScaled": "v1.PersistentVolumeClaimRetentionPolicyType",
    },
    "StatefulSetSpec": {"podManagementPolicy": "v1.PodManagementPolicyType"},
    "StatefulSetUpdateStrategy": {"type": "v1.StatefulSetUpdateStrategyType"},
    "StorageClass": {
        "reclaimPolicy": "v1.PersistentVolumeReclaimPolicy",
        "volumeBindingMode": "v1.VolumeBindingMode",
    },
    "Taint": {"effect": "v1.TaintEffect"},
    "Toleration": {"effect": "v1.TaintEffect", "operator": "v1.TolerationOperator"},
    "TopologySpreadConstraint": {
        "nodeAffinityPolicy": "v1.NodeInclusionPolicy",
        "nodeTaintsPolicy": "v1.NodeInclusionPolicy",
        "whenUnsatisfiable": "v1.UnsatisfiableConstraintAction",
    },
    "UncountedTerminatedPods": {"failed": "[]types.UID", "succeeded": "[]types.UID"},
    "ValidatingWebhook": {
        "failurePolicy": "v1.FailurePolicyType",
        "matchPolicy": "v1.MatchPolicyType",
        "sideEffects": "v1.SideEffectClass",
    },
    "VolumeMount": {
        "mountPropagation": "v1.MountPropagationMode",
        "recursiveReadOnly": "v1.RecursiveReadOnlyMode",
    },
    "VolumeMountStatus": {"recursiveReadOnly": "v1.RecursiveReadOnlyMode"},
}

_LOCAL_REFERENCES = frozenset(
    {
        *("ConfigMapEnvSource", "ConfigMapKeySelector", "ConfigMapProjection"),
        *("ConfigMapVolumeSource", "SecretEnvSource", "SecretKeySelector", "SecretProjection"),
    }
)
_HANDLERS = frozenset({"exec", "httpGet", "tcpSocket", "grpc"})
_VOLUME_OWN = frozenset(
    {
        *("accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity"),
        *("persistentVolumeReclaimPolicy", "storageClassName", "volumeAttributesClassName"),
        "volumeMode",
    }
)


def named_type(struct: str, field: str) -> str | None:
    """The Go type of a text, or list of texts, that has a type of its own."""
    if struct.endswith("Condition") and struct != "Condition":
        return {"type": f"v1.{struct}Type", "status": "v1.ConditionStatus"}.get(field)
    return _NAMED.get(struct, {}).get(field)


def embedded(struct: str, field: str) -> str:
    """The embedded struct that holds a field, `VolumeSource` for a Volume's `emptyDir`; or ""."""
    match struct:
        case "Volume" if field != "name":
            return "VolumeSource"
        case "Probe" if field in _HANDLERS:
            return "ProbeHandler"
        case "PersistentVolumeSpec" if field not in _VOLUME_OWN:
            return "PersistentVolumeSource"
        case "EphemeralContainer" if field != "targetContainerName":
            return "EphemeralContainerCommon"
        case "RuleWithOperations" if field != "operations":
            return "Rule"
    return "LocalObjectReference" if field == "name" and struct in _LOCAL_REFERENCES else ""
