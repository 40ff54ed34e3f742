"""Reads openb, a trace of a cluster with 1,523 nodes and 6,212 GPUs and of its pods, as CSV.

Source: hkust-adsl/kubernetes-scheduler-simulator, ``data/csv``; Weng et al., USENIX ATC 2023.

Columns of nodes: sn, cpu_milli, memory_mib, gpu, model. Columns of pods: name, cpu_milli, memory_mib, num_gpu,
gpu_milli, gpu_spec, qos, pod_phase, creation_time, deletion_time, scheduled_time. A pod that requests part of a GPU
has ``gpu_milli`` below 1000. A node offers 1000 of the resource `GPU_MILLI` per GPU, so parts are counted per node,
and not per device.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from poseidon.simulate.scenario.document import Trace
from poseidon.simulate.workloads.columns import ALONE, Work, WorkTemplate, order_work, plain_template

GPU_MILLI = "openb.example/gpu-milli"
MODEL = "openb.example/gpu-model"
"""The node label that names the model of a node's GPUs."""
NODES = "openb_node_list_gpu_node.csv"
PODS = "openb_pod_list_default.csv"


def read_openb(path: Path, part: Trace) -> tuple[Work, tuple[dict[str, Any], ...]]:
    """Return the pods and nodes of a folder, or of a list of pods with a list of nodes in the same folder.

    The pods have ``restartPolicy: Never``, because all of them end.
    """
    pods = path / PODS if path.is_dir() else path
    templates: dict[tuple[str, ...], int] = {}
    known: list[WorkTemplate] = []
    arrival, duration, template = [], [], []
    for number, row in enumerate(_rows(pods, ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli")), start=2):
        key = tuple(
            row.get(name) or "" for name in ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec")
        )
        if key not in templates:
            templates[key] = len(known)
            known.append(_template(key))
        try:
            begun = float(row.get("creation_time") or 0.0)
            ended = float(row.get("deletion_time") or begun)
        except ValueError:
            raise ValueError(f"{pods.name} line {number}: its times are not numbers") from None
        arrival.append(begun)
        duration.append(max(ended - begun, 1.0))
        template.append(templates[key])
        if part.first is not None and len(arrival) >= part.first:
            break
    nodes = tuple(map(_node, _rows(pods.parent / NODES, ("sn", "cpu_milli", "memory_mib", "gpu"))))
    gang = np.full(len(arrival), ALONE, dtype=np.int64)
    return order_work(
        known, np.array(arrival), np.array(duration), np.array(template, dtype=np.int64), gang
    ), nodes


def _template(key: tuple[str, ...]) -> WorkTemplate:
    cpu, memory, count, part, models = key
    requests: dict[str, Any] = {"cpu": f"{int(float(cpu))}m", "memory": f"{int(float(memory))}Mi"}
    whole = int(float(count or 0))
    if whole:
        requests[GPU_MILLI] = str(whole * int(float(part or 1000)))
    name = f"gpu-{whole}x{part}" if whole else "cpu"
    found = plain_template(name, requests)
    found.manifest["spec"]["restartPolicy"] = "Never"
    if models:
        wanted = {"key": MODEL, "operator": "In", "values": models.split("|")}
        term = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
        found.manifest["spec"]["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}
        }
    return found


def _node(row: dict[str, str]) -> dict[str, Any]:
    offered = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi", "pods": "1000"}
    gpus = int(float(row["gpu"] or 0))
    if gpus:
        offered[GPU_MILLI] = str(1000 * gpus)
    labels = {"kubernetes.io/hostname": row["sn"]} | ({MODEL: row["model"]} if row.get("model") else {})
    return {"metadata": {"name": row["sn"], "labels": labels}, "status": {"allocatable": offered}}


def _rows(path: Path, needed: tuple[str, ...]) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        missing = set(needed).difference(rows.fieldnames or ())
        if missing:
            raise ValueError(f"{path.name} line 1: there is no column {', '.join(sorted(missing))}")
        return list(rows)
