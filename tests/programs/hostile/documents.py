"""Draws hostile configuration files: valid ones, changed in a few places as values, as YAML text or as bytes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

import yaml

from poseidon.manifests.workloads.table import FAMILIES
from protos.configuration.sections import defaults
from tests.programs.hostile.values import AMOUNTS, NUMBERS, TEXTS, TIMES, deep

Path = tuple[Any, ...]

_RICH: dict[str, Any] = {
    "costModels": [
        {"name": "network_overhead", "weight": 2, "args": {"strictMaxNetworkCost": True}},
        {"name": "numa_fit", "args": {"scoringStrategy": {"type": "LeastNUMANodes"}}},
        {"name": "load_threshold", "args": {"usageThresholds": {"cpu": 65, "memory": 95}}},
        {"name": "topology", "weight": 1},
    ],
    "utilisation": {
        "metricsServer": {"mode": "auto"},
        "prometheus": {
            "url": "http://prometheus:9090",
            "queries": [{"query": "q", "resource": "cpu", "of": "nodes", "statistic": "p95", "window": "5m"}],
        },
    },
    "fairShare": {"enabled": True, "weights": {"a": 2.0}},
    "podTopologySpread": {
        "defaultingType": "List",
        "defaultConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
        ],
    },
}
_POD = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c"}], "nodeSelector": {"x": "y"}},
}
_STEP = {"name": "a", "template": "b", "withItems": [1, 2], "dependencies": ["a"]}
_WORKLOADS: tuple[dict[str, Any], ...] = tuple(
    {
        "metadata": {"name": "w", "namespace": "shop", "annotations": {}},
        "spec": spec,
        "status": {"conditions": []},
    }
    for spec in (
        {
            "replicatedJobs": [
                {"name": "r", "replicas": 2, "template": {"spec": {"parallelism": 2, "template": _POD}}}
            ]
        },
        {"replicas": 2, "leaderWorkerTemplate": {"size": 2, "workerTemplate": _POD}},
        {
            "headGroupSpec": {"template": _POD},
            "workerGroupSpecs": [{"groupName": "g", "replicas": 2, "template": _POD}],
        },
        {"rayClusterSpec": {"headGroupSpec": {"template": _POD}}, "suspend": False},
        *(
            {
                f"{kind}ReplicaSpecs": {"Worker": {"replicas": 2, "template": _POD}},
                "runPolicy": {"suspend": False},
            }
            for kind in ("pytorch", "tf", "mpi")
        ),
        {"minAvailable": 1, "tasks": [{"name": "t", "replicas": 2, "template": _POD}]},
        {
            "entrypoint": "a",
            "templates": [
                {"name": "a", "steps": [[_STEP]], "dag": {"tasks": [_STEP]}},
                {"name": "b", "container": {}},
            ],
        },
        {"replicas": 2, "template": _POD, "workloadRef": {"kind": "Deployment", "name": "d"}},
        {"driver": {"cores": 1, "memory": "1g"}, "executor": {"instances": 2, "memoryOverhead": "1g"}},
        {"podSets": [{"name": "p", "count": 2, "template": _POD}]},
        {"predictor": {"minReplicas": 1, "model": {"modelFormat": {"name": "x"}}}},
        {"runtimeRef": {"name": "r"}, "trainer": {"numNodes": 2}},
    )
)
_SCALARS: tuple[Any, ...] = (
    *TEXTS,
    *NUMBERS,
    *TIMES,
    *AMOUNTS,
    None,
    True,
    False,
    [],
    {},
    [[]],
    {"a": {}},
    "1h",
    "-5s",
    float("inf"),
)
_SNIPPETS = (
    "&a [*a]",
    "!!python/object/apply:os.system ['true']",
    "!!binary aGk=",
    "<<: *none",
    "? [a, b]\n: c",
    "---\n",
    "\t",
    "{a: {b: {c: ",
    "]" * 50,
    "0o17",
    "1:30:00",
    "2026-01-01",
    "~",
    "'",
    '"\\ud800"',
    "*alias",
    "&x &y z",
    "%YAML 9.9\n---",
    "# " + "x" * 5_000,
    "\u0085",
    "\ufeff",
)


class Forger:
    """Draws files from ``random``."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def document(self) -> bytes:
        """Draw one file."""
        random = self._random
        value = copy.deepcopy({**defaults(), **_RICH} if random.random() < 0.5 else defaults())
        for _ in range(random.choice((0, 1, 1, 2, 5))):
            self._change(value)
        text = yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=random.random() < 0.5)
        if random.random() < 0.4:
            text = self._spoilt(text)
        raw = text.encode("utf-8", "surrogatepass")
        return self._broken(raw) if random.random() < 0.2 else raw

    def workload(self) -> tuple[tuple[str, str], Any]:
        """Draw a workload of another project: API group and kind, and the object."""
        random = self._random
        value = copy.deepcopy(random.choice(_WORKLOADS))
        for _ in range(random.choice((0, 1, 1, 2, 5))):
            self._change(value)
        return random.choice([*FAMILIES]), value

    def _change(self, value: Any) -> None:
        """Change something within a value."""
        random = self._random
        places = [*_places(value)]
        if not places:
            return
        *way, last = random.choice(places)
        holder = value
        for step in way:
            holder = holder[step]
        match random.randrange(5):
            case 0:
                del holder[last]
            case 1 if isinstance(holder, dict):
                holder[random.choice((*TEXTS, str(last).upper(), f"{last}s", 7, None))] = holder.pop(last)
            case 2:
                other = random.choice(places)
                found = value
                for step in other:
                    found = found[step] if isinstance(found, (dict, list)) and _has(found, step) else found
                holder[last] = copy.deepcopy(found)
            case _:
                holder[last] = random.choice(_SCALARS)

    def _spoilt(self, text: str) -> str:
        random = self._random
        lines = text.split("\n")
        at = random.randrange(len(lines))
        match random.randrange(7):
            case 0:
                lines.insert(at, random.choice(_SNIPPETS))
            case 6:
                lines[at:at] = multiplied(random)
            case 1:
                lines[at] += " " + random.choice(_SNIPPETS)
            case 2:
                lines.insert(at, lines[random.randrange(len(lines))])
            case 3:
                lines[at] = " " * random.choice((1, 2, 40)) + lines[at]
            case 4:
                lines[at] = lines[at].partition(":")[0] + ": " + deep(random)[:20_000]
            case _:
                del lines[at:]
        return "\n".join(lines)

    def _broken(self, raw: bytes) -> bytes:
        random = self._random
        at = random.randrange(len(raw) + 1)
        return random.choice(
            (
                raw[:at],
                raw[:at] + bytes([random.randrange(256)]) + raw[at + 1 :],
                raw[:at] + random.randbytes(3) + raw[at:],
                raw * 2,
                raw.decode("utf-8", "replace").encode("utf-16"),
            )
        )


class _Dumper(yaml.SafeDumper):
    """Writes shared values out, each time."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def multiplied(random: Random) -> list[str]:
    """Draw lines whose aliases and merge keys stand for more than is written, by a lot or a little."""
    levels, times = random.choice((1, 3, 6, 40)), random.choice((1, 2, 9))
    lines = ["m0: &m0 {a: 1, b: 2, c: 3}"]
    for level in range(1, levels):
        several = ", ".join([f"*m{level - 1}"] * times)
        form = random.choice(("{{<<: [{0}]}}", "[{0}]", "{{x: [{0}], <<: [{0}]}}"))
        lines.append(f"m{level}: &m{level} {form.format(several)}")
    return lines


def _places(value: Any, way: Path = ()) -> Iterator[Path]:
    """Yield the ways to all values within a value."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (*way, key)
        yield from _places(inner, (*way, key))


def _has(holder: Any, step: Any) -> bool:
    return step in holder if isinstance(holder, dict) else isinstance(step, int) and step < len(holder)
