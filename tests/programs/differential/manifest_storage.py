"""What claims ask of nodes, in words that the differential tests' world has.

* A bound volume's node affinity, its labels of zones and a class's topologies are terms on nodes.
* Attached volumes are an amount per driver, of which a node has what its CSINode says. Every pod's claim counts for
  itself: those that two pods share are ReadWriteOncePod.
* What a driver that states its capacity can make is a term on the nodes that reach enough of it.
* A volume that anybody may claim is one of the amount that its node has of its class; no node has two of a class.
* A ReadWriteOncePod claim is a label that repels itself in the one domain of all nodes.
* A claim that is missing, or that somebody else has to bind first, has no node that would do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.programs.differential.checker import term_matches
from tests.programs.differential.manifest_words import Object, node_term, only, quantity
from tests.programs.differential.world import Node, NodeTerm, PodTerm, Requirement

EVERYWHERE = "tests/everywhere"
"""Label of all nodes, with the same value."""

_NOWHERE: tuple[NodeTerm, ...] = ()
_UNLIMITED = 1_000_000
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_ZONES = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


@dataclass
class Use:
    """What a pod's claims add to its spec."""

    volumes: list[tuple[NodeTerm, ...]] = field(default_factory=list)
    requests: dict[str, int] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    anti_affinity: list[PodTerm] = field(default_factory=list)

    def take(self, resource: str) -> None:
        """One more of a resource."""
        self.requests[resource] = self.requests.get(resource, 0) + 1


class Storage:
    """The claims, volumes, storage classes and CSI nodes among objects by kind."""

    def __init__(self, by_kind: Mapping[str, Sequence[Object]]) -> None:
        claims = by_kind.get("PersistentVolumeClaim", ())
        self._claims = {(each["metadata"]["namespace"], _name(each)): each for each in claims}
        self._volumes = {_name(each): each for each in by_kind.get("PersistentVolume", ())}
        self._classes = {_name(each): each for each in by_kind.get("StorageClass", ())}
        self._capacities = by_kind.get("CSIStorageCapacity", ())
        self._states_capacity = {
            _name(each) for each in by_kind.get("CSIDriver", ()) if each["spec"].get("storageCapacity")
        }
        self._drivers = {_name(each): each["spec"]["drivers"] for each in by_kind.get("CSINode", ())}

    def room(self, node: Node) -> dict[str, int]:
        """Amounts of the resources of this module that a node has."""
        found = {
            _attached(each["provisioner"]): _UNLIMITED
            for each in self._classes.values()
            if each["provisioner"] != _NO_PROVISIONER
        }
        for driver in self._drivers.get(node.name, ()):
            if (count := driver.get("allocatable", {}).get("count")) is not None:
                found[_attached(driver["name"])] = count
        for volume in self._free():
            if any(term_matches(term, node) for term in _reachable(volume)):
                resource = _free_of(volume["spec"]["storageClassName"])
                assert resource not in found, f"{node.name} has two free volumes of a class: {resource}"
                found[resource] = 1
        return found

    def used_by(self, namespace: str, spec: Object) -> Use:
        """What the claims of a pod's spec ask for."""
        use = Use()
        for each in spec.get("volumes", ()):
            only(each, {"name", "persistentVolumeClaim"})
            name = each["persistentVolumeClaim"]["claimName"]
            claim = self._claims.get((namespace, name))
            if claim is None:
                use.volumes.append(_NOWHERE)
                continue
            if "volumeName" in claim["spec"]:
                self._bound(self._volumes[claim["spec"]["volumeName"]], use)
            else:
                self._unbound(claim, use)
            if "ReadWriteOncePod" in claim["spec"]["accessModes"]:
                label = f"tests/claim-{name}"
                use.labels[label] = ""
                use.anti_affinity.append(PodTerm(EVERYWHERE, (Requirement(label, "Exists"),), (namespace,)))
        return use

    def _bound(self, volume: Object, use: Use) -> None:
        if "nodeAffinity" in volume["spec"]:
            use.volumes.append(_reachable(volume))
        labels = volume["metadata"].get("labels", {})
        # kube-scheduler looks at the zones of volumes on nodes alone that have a label of a zone or a region.
        nowhere = NodeTerm(tuple(Requirement(key, "DoesNotExist") for key in _ZONES))
        for key in _ZONES:
            if key in labels:
                zones = tuple(labels[key].split("__"))
                use.volumes.append((NodeTerm((Requirement(key, "In", zones),)), nowhere))
        if "csi" in volume["spec"]:
            use.take(_attached(volume["spec"]["csi"]["driver"]))

    def _unbound(self, claim: Object, use: Use) -> None:
        name = claim["spec"]["storageClassName"]
        made = self._classes[name]
        if made["volumeBindingMode"] != "WaitForFirstConsumer":
            use.volumes.append(_NOWHERE)
        elif made["provisioner"] == _NO_PROVISIONER:
            least = _size(claim["spec"]["resources"]["requests"])
            large = (each for each in self._free(name) if _size(each["spec"]["capacity"]) >= least)
            use.volumes.append(tuple(term for each in large for term in _reachable(each)))
            use.take(_free_of(name))
        else:
            assert not list(self._free(name)), "free volumes beside provisioned ones are not known here"
            if "allowedTopologies" in made:
                use.volumes.append(tuple(map(_topology, made["allowedTopologies"])))
            if made["provisioner"] in self._states_capacity:
                least = _size(claim["spec"]["resources"]["requests"])
                use.volumes.append(tuple(self._enough(name, least)))
            use.take(_attached(made["provisioner"]))

    def _enough(self, of_class: str, least: int) -> Iterable[NodeTerm]:
        for each in self._capacities:
            limit = each.get("maximumVolumeSize", each.get("capacity"))
            if each["storageClassName"] == of_class and limit is not None and quantity(limit) >= least:
                yield node_term(each["nodeTopology"])

    def _free(self, of_class: str | None = None) -> Iterable[Object]:
        for volume in self._volumes.values():
            if "claimRef" not in volume["spec"] and of_class in (None, volume["spec"]["storageClassName"]):
                yield volume


def _name(each: Object) -> str:
    return str(each["metadata"]["name"])


def _size(of: Object) -> int:
    return int(quantity(of["storage"]))


def _attached(driver: str) -> str:
    return f"tests/attached-{driver}"


def _free_of(storage_class: str) -> str:
    return f"tests/free-{storage_class}"


def _reachable(volume: Object) -> tuple[NodeTerm, ...]:
    return tuple(map(node_term, volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]))


def _topology(given: Object) -> NodeTerm:
    return NodeTerm(
        tuple(
            Requirement(each["key"], "In", tuple(each["values"])) for each in given["matchLabelExpressions"]
        )
    )
