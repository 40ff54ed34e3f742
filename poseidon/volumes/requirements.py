"""Translates volumes into the protocol: rules for machines, and resources for attachments and available volumes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from poseidon.custom_records import NameIndex
from poseidon.kube.api.pod_rules import NodeAffinity
from poseidon.kube.api.storage import CsiNode, PersistentVolume, StorageClass
from poseidon.kube.parsing.defects import Defect
from poseidon.pod_rules.node_affinity import NAME_FIELD, parse_required_terms
from protos.firmament.v1 import scheduler_pb2 as pb

ATTACHMENTS = "attachable-volumes-csi-"
"""Prefix of resources that count the volumes of a CSI driver that are attached to a machine."""

AVAILABLE = "available-volumes-"
"""Prefix of resources that count the unclaimed volumes that a machine reaches and that suit one profile."""

_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_FORMER_ZONE, _FORMER_REGION = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)
_PRESENT_NAME = {_FORMER_ZONE: _ZONE, _FORMER_REGION: _REGION}
_TOPOLOGY_LABELS = (_ZONE, _REGION, _FORMER_ZONE, _FORMER_REGION)
_SEPARATOR = "__"

NONE_TO_BIND = "node(s) didn't find available persistent volumes to bind"
NO_ZONE = "node(s) had no available volume zone"
IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)
NO_SUCH_VOLUME = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

DRIVER_OF_SOURCE = {
    "aws_elastic_block_store": "ebs.csi.aws.com",
    "gce_persistent_disk": "pd.csi.storage.gke.io",
    "azure_disk": "disk.csi.azure.com",
    "azure_file": "file.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "vsphere_volume": "csi.vsphere.vmware.com",
    "portworx_volume": "pxd.portworx.com",
}
"""The CSI drivers that have replaced built-in drivers, by field of a volume's spec."""

_DRIVER_OF_PROVISIONER = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/azure-file": "file.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
}

NO_LIMIT = 2**31
"""The amount that a machine offers if nothing limits it: more volumes than any machine attaches."""


@dataclass(frozen=True, slots=True)
class VolumeNeeds:
    """Needs of a pod's volumes. Pods with equal needs may be of one class, whatever their claims are called.

    ``rules`` are encoded ``VolumeRule`` messages, ``requests`` amounts of resources; both sorted, each once.
    ``invalid`` says why no machine can take the pod, "" if some machine can. ``shared``: resource and name of volumes
    that other pods use, too; if such a volume is attached already, the pod needs one unit less of the resource.
    ``sole``: claims (``namespace/name``) for one pod at a time that other pods need, too. ``new_storage``: volumes to
    be made by drivers that publish their capacity, as storage class, bytes of the largest volume, and bytes of all
    volumes of the class.
    """

    rules: tuple[bytes, ...] = ()
    requests: tuple[tuple[str, int], ...] = ()
    invalid: str = ""
    shared: tuple[tuple[str, str], ...] = ()
    new_storage: tuple[tuple[str, int, int], ...] = ()
    sole: tuple[str, ...] = ()


NO_NEEDS = VolumeNeeds()


def add_needs(plain: pb.TaskClass, needs: VolumeNeeds) -> pb.TaskClass:
    """Return a copy of a class, without ID, with the needs of its tasks' volumes added."""
    message = pb.TaskClass()
    message.CopyFrom(plain)
    message.id = 0
    amounts = {each.resource: each.amount for each in plain.requests}
    for resource, amount in needs.requests:
        amounts[resource] = amounts.get(resource, 0) + amount
    del message.requests[:]
    message.requests.extend(pb.Quantity(resource=name, amount=amounts[name]) for name in sorted(amounts))
    message.attachments.extend(pb.Attachment(resource=name, volume=volume) for name, volume in needs.shared)
    message.disks.extend(pb.Disk(name=f"claim {key}", claim=True) for key in needs.sole)
    message.new_storage.extend(
        pb.NewStorage(storage_class=name, largest=largest, total=total)
        for name, largest, total in needs.new_storage
    )
    if needs.invalid and not message.invalid:
        message.invalid = needs.invalid
    if not message.invalid:
        message.volumes.extend(pb.VolumeRule.FromString(rule) for rule in needs.rules)
    return message


def volume_rules(volume: PersistentVolume, defects: list[Defect]) -> tuple[bytes, ...]:
    """Return the rules for the machines that reach a volume: by its node affinity, and by its zone and region labels.

    Volumes that were made before node affinity existed have these labels (kube-scheduler's VolumeZone). A machine
    that has none of the labels is accepted. If a machine lacks a label under its former name, the present name is
    used.
    """
    rules = []
    affinity = volume.spec.node_affinity
    if affinity is not None and affinity.required is not None:
        required = NodeAffinity(required=affinity.required)
        rules.append(
            _encode(parse_required_terms(required, defects, "spec.nodeAffinity.required.nodeSelectorTerms"))
        )
    labels = {key: value for key, value in volume.metadata.labels.items() if key in _TOPOLOGY_LABELS}
    if labels:
        rules.append(_zone_rule(labels))
    return tuple(sorted(rules))


def topology_rule(storage_class: StorageClass) -> bytes:
    """Return the rule that says where a class's volumes may be made, b"" for anywhere. An empty term never holds."""
    terms = []
    for term in storage_class.allowed_topologies:
        found = [
            _require_values(e.key, sorted(set(e.values))) for e in term.match_label_expressions if e.values
        ]
        terms.append(pb.NodeSelectorTerm(labels=sorted(found, key=lambda each: each.key)))
    return _encode(terms, NONE_TO_BIND) if terms else b""


def node_rule(node: str) -> bytes:
    """Return the rule that only the node of this name satisfies."""
    return _encode([pb.NodeSelectorTerm(fields=[_require_values(NAME_FIELD, [node])])], NONE_TO_BIND)


def driver_of(volume: PersistentVolume) -> str:
    """Return the CSI driver that attaches a volume, even if it has replaced a built-in driver; "" for none."""
    spec = volume.spec
    if spec.csi is not None:
        return spec.csi.driver
    return next((driver for name, driver in DRIVER_OF_SOURCE.items() if getattr(spec, name) is not None), "")


def driver_of_class(storage_class: StorageClass) -> str:
    """Return the CSI driver that attaches the volumes that a class makes."""
    return _DRIVER_OF_PROVISIONER.get(storage_class.provisioner, storage_class.provisioner)


def _zone_rule(labels: Mapping[str, str]) -> bytes:
    choices: list[list[list[pb.Requirement]]] = []
    for key in sorted(labels):
        values = sorted(set(labels[key].split(_SEPARATOR)))
        choice = [[_require_values(key, values)]]
        present = _PRESENT_NAME.get(key)
        if present is not None:
            choice.append(
                [pb.Requirement(key=key, operator="DoesNotExist"), _require_values(present, values)]
            )
        choices.append(choice)
    terms = [
        pb.NodeSelectorTerm(labels=[each for part in parts for each in part]) for parts in product(*choices)
    ]
    unlabelled = [pb.Requirement(key=key, operator="DoesNotExist") for key in sorted(_TOPOLOGY_LABELS)]
    return _encode([*terms, pb.NodeSelectorTerm(labels=unlabelled)], NO_ZONE)


def _require_values(key: str, values: Iterable[str]) -> pb.Requirement:
    return pb.Requirement(key=key, operator="In", values=values)


def _encode(terms: Iterable[pb.NodeSelectorTerm], reason: str = "") -> bytes:
    return pb.VolumeRule(terms=terms, reason=reason).SerializeToString(deterministic=True)


def in_use_on(node: str) -> bytes:
    """Return the rule that only this node satisfies, where another pod uses the claim and may be evicted."""
    terms = [pb.NodeSelectorTerm(fields=[_require_values(NAME_FIELD, [node])])]
    return pb.VolumeRule(terms=terms, reason=IN_USE, in_use=True).SerializeToString(deterministic=True)


IN_USE_RULE = pb.VolumeRule(reason=IN_USE, in_use=True).SerializeToString(deterministic=True)
"""The rule that no node satisfies, because another pod uses the claim, which is for one pod at a time."""

ABSENT_RULE = _encode((), NO_SUCH_VOLUME)
"""The rule that no node satisfies, because the volume does not exist."""


class AttachLimits:
    """Limits of attached volumes by machine and driver, as the machines' CSINode objects state them.

    Volumes of a driver are not counted if no machine states a limit for it. If one does, machines without a limit offer
    ``NO_LIMIT``, because a resource that a machine does not offer counts as 0.
    """

    def __init__(self) -> None:
        self._names = NameIndex()
        self._limits: dict[str, dict[str, int]] = {}
        self._stated: Counter[str] = Counter()

    def put(self, uid: str, csi_node: CsiNode | None) -> tuple[str, frozenset[str]]:
        """Update the limits of one machine, None if its CSINode was deleted.

        Return the machine's name ("" if unknown), and the drivers that are now limited, or no longer limited.
        """
        if csi_node is None:
            name = self._names.remove(uid)
            return name, self._replace(name, {})
        name = csi_node.metadata.name
        self._names.put(uid, name)
        stated = {
            driver.name: min(max(0, driver.allocatable.count), NO_LIMIT)
            for driver in csi_node.spec.drivers
            if driver.name and driver.allocatable is not None and driver.allocatable.count is not None
        }
        return name, self._replace(name, stated)

    def counts(self, driver: str) -> bool:
        """Return whether a machine limits the volumes of a driver, so that these volumes are counted."""
        return driver in self._stated

    def amounts(self, name: str) -> Iterator[tuple[str, int]]:
        """Yield, for each counted driver, its resource and how many volumes a machine may have attached."""
        limits = self._limits.get(name, {})
        for driver in self._stated:
            yield name_attachments(driver), limits.get(driver, NO_LIMIT)

    def _replace(self, name: str, stated: dict[str, int]) -> frozenset[str]:
        before = self._limits.pop(name, {})
        if stated:
            self._limits[name] = stated
        counted = set(self._stated)
        self._stated.update(list(stated))
        self._stated.subtract(list(before))
        self._stated = +self._stated
        return frozenset(counted ^ set(self._stated))


def name_attachments(driver: str) -> str:
    """Return the resource that counts attached volumes of a driver."""
    return ATTACHMENTS + driver
