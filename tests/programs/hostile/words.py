"""What fields of the protocol are filled with: sane words and numbers by the names of fields, and the ends of types."""

from __future__ import annotations

from google.protobuf.descriptor import FieldDescriptor

from cost_models.firmament_policies.input_locations import ANNOTATION as INPUTS
from poseidon.pods.koordinator_priority import NODE_ANNOTATIONS, POD_ANNOTATIONS
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.programs.hostile.payloads import MACHINES, NAMESPACES

GIB = 2**30
ZONES = "topology.kubernetes.io/zone"
LABEL_KEYS = (
    ZONES,
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/rack",
    "kubernetes.io/hostname",
    "app",
    "taskType",
    "networkRequirement",
    "appgroup.diktyo.x-k8s.io",
    "appgroup.diktyo.x-k8s.io.workload",
    "node.kubernetes.io/instance-type",
    "sakkara.topology.rack",
)
LABEL_VALUES = ("a", "b", "c", "0", "7", "shop", "sheep", "devil", "big")
ANNOTATION_KEYS = (
    INPUTS,
    "firmament.io/program",
    "firmament.io/network-bandwidth",
    *sorted(POD_ANNOTATIONS | NODE_ANNOTATIONS),
)
RESOURCES = (
    "cpu",
    "memory",
    "pods",
    "ephemeral-storage",
    "nvidia.com/gpu",
    "network.aware.com/bandwidth",
    "v",
)
AMOUNTS = {"cpu": (0, 100, 500, 4000), "memory": (0, GIB, 8 * GIB), "pods": (0, 1, 10)}
WORDS: dict[str, tuple[str, ...]] = {
    "effect": ("NoSchedule", "PreferNoSchedule", "NoExecute", ""),
    "topology_key": ("kubernetes.io/hostname", ZONES, "app"),
    "namespace": NAMESPACES,
    "namespaces": (*NAMESPACES, "decent"),
    "protocol": ("TCP", "UDP", "SCTP", ""),
    "ip": ("", "0.0.0.0", "10.0.0.1"),
    "qos": ("Guaranteed", "Burstable", "BestEffort"),
    "service_class": ("koord-prod", "koord-mid", "koord-batch", "koord-free", ""),
    "type": ("avg", "p50", "p95", "std"),
    "invalid": ("", "", "", "a bad spec"),
    "spread_group": ("", "web"),
    "images": ("nginx", "redis"),
    "names": ("nginx", "redis"),
    "attached": ("vol-0", "vol-1"),
    "volume": ("vol-0", "vol-1"),
    "value": LABEL_VALUES,
    "values": LABEL_VALUES,
    "machine": ("", "", "", *MACHINES, "good-0", *["shared-0"] * 5),
    "name": ("main", "side"),
}
NUMBERS: dict[str, tuple[float, ...]] = {
    "weight": (1, 50, 100),
    "max_skew": (1, 2),
    "min_domains": (0,),
    "port": (80, 8080),
    "kind": (1, 2, 3),
    "priority": (0, 0, 10, 2**31 - 1),
    "group_priority": (0, 5),
    "size": (0, 1, 3),
    "min_members": (0, 0, 2, 3),
    "gang_seconds": (0.0, 60.0),
    "time": (0.0, 1.7e9),
    "seconds": (300.0, 900.0),
    "report_interval": (0.0, 60.0),
}
BOUNDS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_ENUM: (-(2**31), 2**31 - 1),
}
DOUBLES = (
    float("nan"),
    float("inf"),
    float("-inf"),
    1e308,
    -1.0,
    -0.0,
    5e-324,
    2.0**53,
    2.0**53 + 2,
    253402300799.0,
)
NEEDED = {
    "weight",
    "max_skew",
    "topology_key",
    "kind",
    "port",
    "resource",
    "type",
    "key",
    "requests",
    "allocatable",
}
BODIES = tuple(each.name for each in pb.Event.DESCRIPTOR.fields)
WEIGHTS = {"task_class": 4, "tasks": 5, "bound": 3, "record": 5, "machine": 3, "machine_sample": 2}
