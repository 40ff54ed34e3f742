"""What kube-apiserver 1.36 refuses in objects of the kinds that the examples use, as lines ``field: problem``.

Written down by hand from its validation (``pkg/apis/*/validation``), as strict as that where an example could go wrong:
required fields, names, resources, selectors, fields that a pod's spec does not have, versions that are not served.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from poseidon.kube.parsing.quantities import QuantityError, whole_units
from tests.examples.pod_rules import pod_faults

Object = Mapping[str, Any]

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII
)
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", re.ASCII)


def faults(found: Object, others: Sequence[Object] = ()) -> list[str]:
    """Return why the API server would refuse an object; ``others`` are there already."""
    kind = (str(found.get("apiVersion")), str(found.get("kind")))
    rules = RULES.get(kind)
    if rules is None:
        return [f"{' '.join(kind)}: is not served"]
    named = list(_metadata(found.get("metadata") or {}))
    try:
        return [*named, *rules(found, others)]
    except QuantityError as error:
        return [*named, str(error)]


def _metadata(metadata: Object) -> Iterator[str]:
    name = metadata.get("name")
    if not name or not _SUBDOMAIN.fullmatch(name):
        yield f"metadata.name: {name!r} is no name"
    for key, value in (metadata.get("labels") or {}).items():
        yield from _label(f"metadata.labels[{key}]", key, value)
    for key, value in (metadata.get("annotations") or {}).items():
        if not _QUALIFIED.fullmatch(key) or not isinstance(value, str):
            yield f"metadata.annotations[{key}]: must be text under a qualified name"


def _label(field: str, key: str, value: object) -> Iterator[str]:
    if not _QUALIFIED.fullmatch(key) or not isinstance(value, str) or not _VALUE.fullmatch(value):
        yield f"{field}: {value!r} is no label value"


def _nothing(_found: Object, _others: Sequence[Object]) -> Iterator[str]:
    yield from ()


def _pod(found: Object, others: Sequence[Object]) -> Iterator[str]:
    yield from pod_faults(found.get("spec") or {}, "spec", others)


def _node(found: Object, _others: Sequence[Object]) -> Iterator[str]:
    for field in ("capacity", "allocatable"):
        for value in ((found.get("status") or {}).get(field) or {}).values():
            whole_units(value)
    for taint in (found.get("spec") or {}).get("taints") or ():
        yield from _label(f"spec.taints[{taint.get('key')}]", taint.get("key") or "", taint.get("value", ""))
        if taint.get("effect") not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            yield f"spec.taints: effect {taint.get('effect')!r} is unknown"


def _workload(found: Object, others: Sequence[Object]) -> Iterator[str]:
    """Deployment, ReplicaSet, StatefulSet, DaemonSet: a selector is required, and is that of the template."""
    spec = found.get("spec") or {}
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    selector = spec.get("selector")
    if not selector:
        yield "spec.selector: is required"
    elif not (selector.get("matchLabels") or {}).items() <= labels.items():
        yield "spec.template.metadata.labels: the selector does not match them"
    for key, value in labels.items():
        yield from _label(f"spec.template.metadata.labels[{key}]", key, value)
    yield from pod_faults(template.get("spec") or {}, "spec.template.spec", others)
    for claim in spec.get("volumeClaimTemplates") or ():
        yield from _claim_spec(claim.get("spec") or {}, "spec.volumeClaimTemplates")


def _job(found: Object, others: Sequence[Object]) -> Iterator[str]:
    spec = found.get("spec") or {}
    template = spec.get("template") or {}
    pod = template.get("spec") or {}
    if pod.get("restartPolicy") not in ("OnFailure", "Never"):
        yield "spec.template.spec.restartPolicy: must be OnFailure or Never"
    if "selector" in spec:
        yield "spec.selector: is set by the server"
    yield from pod_faults(pod, "spec.template.spec", others)


def _claim(found: Object, _others: Sequence[Object]) -> Iterator[str]:
    yield from _claim_spec(found.get("spec") or {}, "spec")


def _claim_spec(spec: Object, field: str) -> Iterator[str]:
    if not spec.get("accessModes"):
        yield f"{field}.accessModes: is required"
    if "storage" not in ((spec.get("resources") or {}).get("requests") or {}):
        yield f"{field}.resources.requests.storage: is required"
    elif whole_units(spec["resources"]["requests"]["storage"]) <= 0:
        yield f"{field}.resources.requests.storage: must be more than 0"


def _volume(found: Object, _others: Sequence[Object]) -> Iterator[str]:
    spec = found.get("spec") or {}
    for field in ("accessModes", "capacity"):
        if not spec.get(field):
            yield f"spec.{field}: is required"
    known = {
        "accessModes",
        "capacity",
        "claimRef",
        "nodeAffinity",
        "storageClassName",
        "volumeMode",
        "persistentVolumeReclaimPolicy",
    }
    sources = set(spec) - known
    if len(sources) != 1:
        yield f"spec: must specify one volume type, not {sorted(sources)}"
    if "csi" in spec and not (spec["csi"].get("driver") and spec["csi"].get("volumeHandle")):
        yield "spec.csi: driver and volumeHandle are required"
    if "local" in spec and not (spec["local"].get("path") and spec.get("nodeAffinity")):
        yield "spec.local: a path and nodeAffinity are required"
    if "nodeAffinity" in spec and not (spec["nodeAffinity"].get("required") or {}).get("nodeSelectorTerms"):
        yield "spec.nodeAffinity.required.nodeSelectorTerms: is required"


def _storage_class(found: Object, _others: Sequence[Object]) -> Iterator[str]:
    if not found.get("provisioner"):
        yield "provisioner: is required"


def _csi_node(found: Object, _others: Sequence[Object]) -> Iterator[str]:
    for driver in (found.get("spec") or {}).get("drivers") or ():
        if not driver.get("name") or not driver.get("nodeID"):
            yield "spec.drivers: name and nodeID are required"


def _storage_capacity(found: Object, _others: Sequence[Object]) -> Iterator[str]:
    if not found.get("storageClassName"):
        yield "storageClassName: is required"
    for field in ("capacity", "maximumVolumeSize"):
        if field in found and not isinstance(found[field], str | int):
            yield f"{field}: must be a quantity"


def _device_claim(found: Object, _others: Sequence[Object]) -> Iterator[str]:
    yield from _device_requests(found.get("spec") or {}, "spec")


def _device_claim_template(found: Object, _others: Sequence[Object]) -> Iterator[str]:
    yield from _device_requests((found.get("spec") or {}).get("spec") or {}, "spec.spec")


def _device_requests(spec: Object, where: str) -> Iterator[str]:
    requests = (spec.get("devices") or {}).get("requests") or []
    if not 0 < len(requests) <= 32:
        yield f"{where}.devices.requests: must have 1 to 32 items"
    for each in requests:
        if ("exactly" in each) == ("firstAvailable" in each):
            yield f"{where}.devices.requests: exactly one of exactly and firstAvailable is required"
        for one in each.get("firstAvailable") or [each.get("exactly") or {}]:
            if not one.get("deviceClassName"):
                yield f"{where}.devices.requests: deviceClassName is required"


def _device_slice(found: Object, _others: Sequence[Object]) -> Iterator[str]:
    spec = found.get("spec") or {}
    nodes = [spec.get(field) for field in ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")]
    if sum(bool(each) for each in nodes) != 1:
        yield "spec: exactly one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection is required"
    if bool(spec.get("devices")) == bool(spec.get("sharedCounters")):
        yield "spec: exactly one of devices and sharedCounters is required"
    for field in ("driver", "pool"):
        if not spec.get(field):
            yield f"spec.{field}: is required"


def _priority_class(found: Object, _others: Sequence[Object]) -> Iterator[str]:
    if not isinstance(found.get("value"), int) or found["value"] > 1_000_000_000:
        yield "value: must be a number of at most 1000000000"
    if found["metadata"]["name"].startswith("system-"):
        yield "metadata.name: system- is reserved"


def _budget(found: Object, _others: Sequence[Object]) -> Iterator[str]:
    spec = found.get("spec") or {}
    if "minAvailable" in spec and "maxUnavailable" in spec:
        yield "spec: minAvailable and maxUnavailable cannot be both set"


def _runtime_class(found: Object, _others: Sequence[Object]) -> Iterator[str]:
    if not found.get("handler"):
        yield "handler: is required"


def _native_group(found: Object, others: Sequence[Object]) -> Iterator[str]:
    spec = found.get("spec") or {}
    yield from _policy(spec.get("schedulingPolicy") or {}, "spec.schedulingPolicy")
    template = (spec.get("podGroupTemplateRef") or {}).get("workload")
    if template is not None:
        workloads = {each["metadata"]["name"]: each for each in others if each["kind"] == "Workload"}
        workload = workloads.get(template.get("workloadName"), {"spec": {"podGroupTemplates": []}})
        if template.get("podGroupTemplateName") not in [
            each["name"] for each in workload["spec"]["podGroupTemplates"]
        ]:
            yield "spec.podGroupTemplateRef: no Workload has such a template"


def _native_workload(found: Object, _others: Sequence[Object]) -> Iterator[str]:
    templates = (found.get("spec") or {}).get("podGroupTemplates")
    if not templates or len(templates) > 8:
        yield "spec.podGroupTemplates: must have 1 to 8 items"
    for template in templates or ():
        yield from _policy(template.get("schedulingPolicy") or {}, "spec.podGroupTemplates")


def _grouped(found: Object, _others: Sequence[Object]) -> Iterator[str]:
    """A group that may be in others: 1.37 wants a Workload named with the parent, and always by a composite one."""
    spec, composite = found.get("spec") or {}, found["kind"] == "CompositePodGroup"
    yield from _policy(
        spec.get("schedulingPolicy") or {},
        "spec.schedulingPolicy",
        "minGroupCount" if composite else "minCount",
    )
    reference = spec.get("workloadRef") or {}
    if composite or spec.get("parentCompositePodGroupName"):
        for field in ("workloadName", "templateName"):
            if not reference.get(field):
                yield f"spec.workloadRef.{field}: Required value"
    if len((spec.get("schedulingConstraints") or {}).get("topology") or ()) > 1:
        yield "spec.schedulingConstraints.topology: must have at most 1 item"


def _policy(policy: Object, field: str, count: str = "minCount") -> Iterator[str]:
    if len(policy) != 1 or not policy.keys() <= {"basic", "gang"}:
        yield f"{field}: must specify one of basic and gang"
    elif "gang" in policy and not (policy["gang"].get(count) or 0) > 0:
        yield f"{field}.gang.{count}: must be greater than 0"


RULES: dict[tuple[str, str], Callable[[Object, Sequence[Object]], Iterator[str]]] = {
    ("v1", "ConfigMap"): _nothing,
    ("v1", "Namespace"): _nothing,
    ("v1", "Node"): _node,
    ("v1", "PersistentVolume"): _volume,
    ("v1", "PersistentVolumeClaim"): _claim,
    ("v1", "Pod"): _pod,
    ("apps/v1", "DaemonSet"): _workload,
    ("apps/v1", "Deployment"): _workload,
    ("apps/v1", "ReplicaSet"): _workload,
    ("apps/v1", "StatefulSet"): _workload,
    ("batch/v1", "Job"): _job,
    ("node.k8s.io/v1", "RuntimeClass"): _runtime_class,
    ("policy/v1", "PodDisruptionBudget"): _budget,
    ("resource.k8s.io/v1", "DeviceClass"): _nothing,
    ("resource.k8s.io/v1", "ResourceClaim"): _device_claim,
    ("resource.k8s.io/v1", "ResourceClaimTemplate"): _device_claim_template,
    ("resource.k8s.io/v1", "ResourceSlice"): _device_slice,
    ("scheduling.k8s.io/v1", "PriorityClass"): _priority_class,
    ("scheduling.k8s.io/v1alpha2", "PodGroup"): _native_group,
    ("scheduling.k8s.io/v1alpha2", "Workload"): _native_workload,
    ("scheduling.k8s.io/v1alpha3", "CompositePodGroup"): _grouped,
    ("scheduling.k8s.io/v1beta1", "PodGroup"): _grouped,
    ("storage.k8s.io/v1", "CSIDriver"): _nothing,
    ("storage.k8s.io/v1", "CSINode"): _csi_node,
    ("storage.k8s.io/v1", "CSIStorageCapacity"): _storage_capacity,
    ("storage.k8s.io/v1", "StorageClass"): _storage_class,
    # Custom resources; their definitions come with who defines them, and say little of their fields.
    ("appgroup.diktyo.x-k8s.io/v1alpha1", "AppGroup"): _nothing,
    ("kueue.x-k8s.io/v1beta2", "ClusterQueue"): _nothing,
    ("kueue.x-k8s.io/v1beta2", "LocalQueue"): _nothing,
    ("kueue.x-k8s.io/v1beta2", "ResourceFlavor"): _nothing,
    ("metrics.k8s.io/v1beta1", "NodeMetrics"): _nothing,
    ("networktopology.diktyo.x-k8s.io/v1alpha1", "NetworkTopology"): _nothing,
    ("scheduling.x-k8s.io/v1alpha1", "PodGroup"): _nothing,
    ("batch.volcano.sh/v1alpha1", "Job"): _nothing,
    ("topology.volcano.sh/v1alpha1", "HyperNode"): _nothing,
    ("grove.io/v1alpha1", "ClusterTopology"): _nothing,
    ("scheduling.run.ai/v2alpha2", "PodGroup"): _nothing,
    ("disaggregatedset.x-k8s.io/v1", "DisaggregatedSet"): _nothing,
    ("grove.io/v1alpha1", "PodCliqueSet"): _nothing,
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): _nothing,
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"): _nothing,
    ("slo.koordinator.sh/v1alpha1", "NodeMetric"): _nothing,
    ("scheduling.koordinator.sh/v1alpha1", "Device"): _nothing,
    ("topology.node.k8s.io/v1alpha1", "NodeResourceTopology"): _nothing,
    ("topology.node.k8s.io/v1alpha2", "NodeResourceTopology"): _nothing,
}
"""What 1.36, of trees of groups 1.37, serves of what is used here, alpha versions included, by API version and kind."""
