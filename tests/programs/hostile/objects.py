"""Objects of every kind that the bridge follows, with something hostile in every field that it reads.

Fields come from the structs that objects are decoded to, so that one that is added later is drawn here as well.
Annotations, labels and data are drawn by the names that the bridge looks at.
"""

from __future__ import annotations

import json
from functools import lru_cache
from random import Random
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec

from poseidon.app_network.last_good_specs import LAST_GOOD as LAST_GOOD_SPEC
from poseidon.group_trees.spec.keys import (
    CONSTRAINTS_ANNOTATION,
    GROUP_LABEL,
    LAST_GOOD,
    RACK_LABEL,
    RANK_LABEL,
    RETRIES_LABEL,
    STATUS_LABEL,
)
from poseidon.kube.api.collections import GROUP_MAP_LABEL, TREE_MAP_LABEL
from poseidon.kube.api.devices import DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from poseidon.kube.api.metadata import Number
from poseidon.kube.api.other_projects.app_network import AppGroup, ConfigMap, NetworkTopology
from poseidon.kube.api.pods import Pod
from poseidon.kube.api.storage import LEGACY_CLASS, SELECTED_NODE
from poseidon.lifecycle.refused_pods import RECREATIONS
from poseidon.pod_groups.demands import MIN_PARALLELISM
from poseidon.pod_groups.group_names import (
    GANG_ANNOTATION,
    KUEUE_GROUP_LABEL,
    KUEUE_GROUP_SIZE,
    POD_GROUP_LABEL,
)
from poseidon.pods.koordinator_priority import (
    NODE_ANNOTATIONS,
    POD_ANNOTATIONS,
    PRIORITY_CLASS_LABEL,
    QUALITY_LABEL,
)
from poseidon.pods.learnt_run_times import PROGRAM
from poseidon.pods.requests_and_limits import BANDWIDTH_ANNOTATIONS
from poseidon.pods.visibility import APP_GROUP_LABEL, WORKLOAD_LABEL
from poseidon.queues.elastic_quotas import NAMESPACES, PARENT, TREE, WEIGHT
from poseidon.queues.queue_names import KAI_QUEUES, KOORDINATOR_QUOTA, KUEUE_QUEUE, VOLCANO_QUEUES, WORKER_SET
from tests.programs.hostile import device_specs, values

NAMESPACE = "mallory"
COMMONS = tuple(f"common-{index}" for index in range(6))
"""Nodes that anybody may use; pods are created on the first two of them, whether they fit or not."""

ANNOTATIONS = (
    GANG_ANNOTATION,
    RECREATIONS,
    CONSTRAINTS_ANNOTATION,
    LAST_GOOD,
    LAST_GOOD_SPEC,
    PROGRAM,
    LEGACY_CLASS,
    SELECTED_NODE,
    "firmament.io/anything",
    KUEUE_GROUP_SIZE,
    MIN_PARALLELISM,
    WEIGHT,
    NAMESPACES,
    *VOLCANO_QUEUES,
    *sorted(BANDWIDTH_ANNOTATIONS | POD_ANNOTATIONS | NODE_ANNOTATIONS),
)
LABELS = (
    POD_GROUP_LABEL,
    GROUP_LABEL,
    RACK_LABEL,
    RANK_LABEL,
    RETRIES_LABEL,
    STATUS_LABEL,
    PRIORITY_CLASS_LABEL,
    QUALITY_LABEL,
    APP_GROUP_LABEL,
    WORKLOAD_LABEL,
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "kubernetes.io/hostname",
    "app",
    "networkRequirement",
    "taskType",
    KUEUE_QUEUE,
    KUEUE_GROUP_LABEL,
    KOORDINATOR_QUOTA,
    WORKER_SET,
    PARENT,
    TREE,
    *KAI_QUEUES,
)
MAP_KEYS = ("name", "size", "priority", "constraints", "tree", "level-names", "resource-names", "status",
            "schedBeginTime", "schedEndTime", "placement", "rank", "preemptor", "message")  # fmt: skip
RESOURCES = ("cpu", "memory", "pods", "ephemeral-storage", "nvidia.com/gpu", "network.aware.com/bandwidth",
             "hugepages-2Mi", "", "storage", "x" * 300)  # fmt: skip
GROUPS = ("mallory-0", "mallory-1", "shop", "train")


@lru_cache(maxsize=256)
def fields(kind: type) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a struct: names on the wire, and declared types."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple((each.encode_name, hints[each.name]) for each in msgspec.structs.fields(kind))


class Mallory:
    """Draws objects; ``random`` decides.

    Some are wild in every field, others sane but for one or two, so that what is wrong is met wherever it is read.
    ``wrong`` is how often a value of a wild object is not of its field's type at all.
    """

    def __init__(self, random: Random, wrong: float = 0.01) -> None:
        self._random = random
        self._wrong = wrong
        self._wild = self._dense = 1.0
        self._serial = 0

    def raw(self, kind: type, name: str = "", uid: str = "", *, spoil: bool = True) -> tuple[str, bytes]:
        """Return the uid of a new object of a kind (or of the one with this ``uid``), and the object as JSON.

        With ``spoil`` some are no JSON.
        """
        self._serial += 1
        uid = uid or f"m-{self._serial}"
        self._wild = self._random.choice((0.0, 0.02, 0.02, 0.1, 0.5, 1.0))
        self._dense = self._random.choice((0.1, 0.3, 0.8))
        found = self._struct(kind, 0)
        given = found.get("metadata")
        found["metadata"] = {
            **(given if isinstance(given, dict) else {}),
            **self._metadata(name or f"mallory-{self._serial}", uid),
        }
        self._annotate(kind, found)
        self._decency(kind, found)
        encoded = json.dumps(found).encode()
        if spoil and self._random.random() < 0.05:
            encoded = self._spoiled(encoded)
        return uid, encoded

    # --- what is always true of an object that an API server has stored -------------------------------------------

    def _metadata(self, name: str, uid: str) -> dict[str, Any]:
        return {"name": name, "namespace": NAMESPACE, "uid": uid, "resourceVersion": str(self._serial)}

    def _decency(self, kind: type, found: dict[str, Any]) -> None:
        """Take out what Kubernetes itself lets keep others off their nodes: this is not about that."""
        if kind is not Pod or not isinstance(found.setdefault("spec", {}), dict):
            return
        spec = found["spec"]
        if isinstance(spec.get("tolerations"), list):
            spec["tolerations"] = [
                each
                for each in spec["tolerations"]
                if isinstance(each, dict) and each.get("key") not in ("", None)
            ]
        spec["nodeName"] = self._random.choice(
            ("", "", "", "", "", "mallory-node-0", *COMMONS[:2], "no-such-node")
        )
        if self._random.random() < 0.7:
            self._simplify(found, spec)
        spec["schedulerName"] = self._random.choice(("poseidon", "poseidon", "poseidon", "default-scheduler"))

    def _simplify(self, pod: dict[str, Any], spec: dict[str, Any]) -> None:
        """Leave out what keeps most pods from being placed at all, so that rounds see the rest."""
        if not spec.get("containers"):
            spec["containers"] = [{"name": "main", "resources": {"requests": {"cpu": self._amount()}}}]
        pod.pop("status", None)
        for name in ("schedulingGates", "priorityClassName", "volumes"):
            spec.pop(name, None)
        if self._random.random() < 0.8:
            spec.pop("resourceClaims", None)
        if self._random.random() < 0.7:
            spec["nodeSelector"] = {}
            for name in ("workloadRef", "schedulingGroup"):
                spec.pop(name, None)

    # --- what is not -----------------------------------------------------------------------------------------------

    def _annotate(self, kind: type, found: dict[str, Any]) -> None:
        random, metadata = self._random, found["metadata"]
        metadata["annotations"] = {
            key: random.choice((values.text, values.json_text))(random)
            for key in random.sample(ANNOTATIONS, random.randint(0, 4))
        }
        metadata["labels"] = {
            key: random.choice((*GROUPS, *GROUPS, values.text(random)))
            for key in random.sample(LABELS, random.randint(0, 4))
        }
        metadata["ownerReferences"] = [self._owner() for _ in range(random.choice((0, 0, 1, 1, 2)))]
        for key in ("creationTimestamp", "deletionTimestamp"):
            if random.random() < (0.8 if key == "creationTimestamp" else 0.1):
                metadata[key] = random.choice(values.TIMES)
            else:
                metadata.pop(key, None)
        if kind is ConfigMap:
            self._fill_map(found)
        if kind in (DeviceClass, ResourceClaim, ResourceClaimTemplate, ResourceSlice):
            self._describe_devices(kind, found)
        if kind in (AppGroup, NetworkTopology):
            found["spec"] = self._app_group() if kind is AppGroup else self._topology()

    def _owner(self) -> dict[str, Any]:
        return {
            "kind": self._random.choice(values.WORDS["kind"]),
            "name": self._random.choice(GROUPS),
            "uid": self._random.choice(
                ("TopologyGroup/decent/train", "PodGroup/decent/gang", "uid-decent", "forged")
            ),
            "controller": True,
        }

    def _fill_map(self, found: dict[str, Any]) -> None:
        random = self._random
        label = random.choice((GROUP_MAP_LABEL, TREE_MAP_LABEL))
        found["metadata"]["labels"][label] = ""
        if label == TREE_MAP_LABEL:
            found["metadata"]["namespace"] = random.choice((NAMESPACE, "default"))
        found["data"] = {
            key: random.choice((values.text, values.json_text))(random)
            for key in random.sample(MAP_KEYS, random.randint(0, 6))
        }
        found["data"]["name"] = random.choice((*GROUPS, values.text(random)))
        if random.random() < 0.5:
            found["data"].update(
                size=random.choice(("1", "2", "2147483647")), schedBeginTime=random.choice(values.TIMES)
            )

    def _describe_devices(self, kind: type, found: dict[str, Any]) -> None:
        random, wild = self._random, self._wild / 2
        if kind is DeviceClass:
            found["metadata"]["name"] = random.choice(device_specs.CLASSES)
            found["spec"] = device_specs.draw_class(random, wild)
        elif kind is ResourceSlice:
            found["spec"] = device_specs.draw_slice(random, wild, COMMONS)
        elif kind is ResourceClaimTemplate:
            found["spec"] = {"spec": device_specs.draw_claim(random, wild)}
        else:
            found["spec"] = device_specs.draw_claim(random, wild)
            status = found.get("status")
            if isinstance(status, dict):
                status["allocation"] = device_specs.draw_allocation(random, wild, COMMONS)

    def _app_group(self) -> Any:
        random = self._random
        if random.random() < 0.2:
            return self._anything(0)
        workloads = [
            {
                "workload": {"name": name, "selector": random.choice((name, values.text(random)))},
                "dependencies": [
                    {
                        "workload": {"name": random.choice(("a", "b", "c", values.text(random)))},
                        "minBandwidth": random.choice(values.AMOUNTS),
                        "maxNetworkCost": random.choice(values.NUMBERS),
                    }
                    for _ in range(random.randint(0, 3))
                ],
            }
            for name in random.sample(("a", "b", "c", values.text(random)), random.randint(1, 3))
        ]
        algorithm = random.choice(("KahnSort", "TarjanSort", values.text(random)))
        return {
            "numMembers": random.choice(values.NUMBERS),
            "topologySortingAlgorithm": algorithm,
            "workloads": workloads,
        }

    def _topology(self) -> Any:
        random = self._random
        if random.random() < 0.2:
            return self._anything(0)
        pairs = [
            {
                "destination": random.choice(("a", "b", values.text(random))),
                "networkCost": random.choice(values.NUMBERS),
                "bandwidthCapacity": random.choice(values.AMOUNTS),
            }
            for _ in range(random.randint(1, 3))
        ]
        lists = [
            {
                "topologyKey": random.choice(
                    ("topology.kubernetes.io/zone", "topology.kubernetes.io/region", "x")
                ),
                "originList": [{"origin": random.choice(("a", "b", values.text(random))), "costList": pairs}],
            }
        ]
        weights = [{"name": random.choice(("UserDefined", "NetperfCosts")), "topologyList": lists}]
        return {"configmapName": random.choice(("net", values.text(random))), "weights": weights}

    # --- by type ---------------------------------------------------------------------------------------------------

    def _struct(self, kind: type, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, declared in fields(kind):
            if depth < 9 and self._random.random() < (self._dense if depth < 3 else 0.5):
                found[name] = self._value(name, declared, depth + 1)
        if self._is_wild() and self._random.random() < 0.1:
            found[values.text(self._random)] = self._anything(0)
        return found

    def _is_wild(self) -> bool:
        return self._random.random() < self._wild

    def _value(self, name: str, declared: Any, depth: int) -> Any:
        random = self._random
        if random.random() < self._wrong * self._wild:
            return self._anything(0)
        if get_origin(declared) is Annotated:
            declared = get_args(declared)[0]
        if declared == Number:
            return self._amount()
        origin, parts = get_origin(declared), get_args(declared)
        if origin in (Union, UnionType):
            chosen = random.choice([each for each in parts if each is not NoneType])
            found = None if random.random() < 0.1 else self._value(name, chosen, depth)
        elif origin is tuple:
            found = [self._value(name, parts[0], depth) for _ in range(random.choice((0, 1, 1, 2, 3)))]
        elif origin is dict:
            found = self._map(name, parts[1], depth)
        elif isinstance(declared, type) and issubclass(declared, msgspec.Struct):
            found = self._struct(declared, depth)
        else:
            found = self._scalar(name, declared)
        return found

    def _map(self, name: str, declared: Any, depth: int) -> dict[str, Any]:
        random = self._random
        keys = RESOURCES if declared == Number or declared is Any else LABELS
        drawn = [
            values.text(random) if self._is_wild() else random.choice(keys)
            for _ in range(random.choice((0, 1, 2, 3)))
        ]
        if name in ("usage", "resources") and declared is not Any:
            drawn = [values.text(random) if self._is_wild() else random.choice(("avg", "p95", "p50"))]
        return {
            key: self._amount() if declared is Any else self._value(name, declared, depth) for key in drawn
        }

    def _amount(self) -> Any:
        wild = (*values.AMOUNTS, *values.NUMBERS)
        return self._random.choice(wild if self._is_wild() else ("1", "100m", "1Mi"))

    def _scalar(self, name: str, declared: Any) -> Any:
        random, wild = self._random, self._is_wild()
        if declared is bool:
            return random.random() < 0.5
        if declared in (int, float):
            numbers = [each for each in values.NUMBERS if isinstance(each, int)]
            return random.choice(numbers if wild else (1, 2, 80))
        if declared is str:
            if not wild:
                return random.choice(values.WORDS.get(name, ("a", "b")))
            if name.endswith(("Time", "Timestamp", "At")) or name == "time":
                return random.choice(values.TIMES)
            return values.text(random)
        return self._anything(0)

    def _anything(self, depth: int) -> Any:
        random = self._random
        if depth > 3:
            return values.text(random)
        return random.choice(
            (
                lambda: None,
                lambda: True,
                lambda: values.text(random),
                lambda: random.choice(values.NUMBERS),
                lambda: [self._anything(depth + 1) for _ in range(random.randint(0, 3))],
                lambda: {values.text(random): self._anything(depth + 1) for _ in range(random.randint(0, 3))},
            )
        )()

    # --- bytes -----------------------------------------------------------------------------------------------------

    def _spoiled(self, encoded: bytes) -> bytes:
        """Break an encoded object as no JSON encoder would."""
        random = self._random
        unknown = random.choice(
            (
                b"[" * 5_000 + b"]" * 5_000,
                b'{"a":' * 900 + b"1" + b"}" * 900,
                b"1e999",
                b"9" * 6_000,
                b'"\xed\xa0\x80\xff"',
                b'"\\ud800\\ud800"',
                b"NaN",
                b"{",
            )
        )
        return encoded[:-1] + b', "unknown": ' + unknown + b"}"
