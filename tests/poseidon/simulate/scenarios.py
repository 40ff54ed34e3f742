"""Scenarios for tests: as values, and as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from poseidon.simulate.engine import Simulation
from poseidon.simulate.scenario.document import API_VERSION, KIND, Scenario, load_scenario
from poseidon.simulate.setup import set_up


def pool(name: str = "general", count: int = 4, cpu: int = 8, **more: Any) -> dict[str, Any]:
    """Return a pool of nodes."""
    return {"name": name, "count": count, "allocatable": {"cpu": cpu, "memory": f"{4 * cpu}Gi"}, **more}


def kind(name: str = "web", cpu: int | str = 1, mean: float | str = 600, **more: Any) -> dict[str, Any]:
    """Return a kind of tasks."""
    return {"name": name, "requests": {"cpu": cpu, "memory": "1Gi"}, "duration": {"mean": mean}, **more}


def scenario(
    *kinds: dict[str, Any], load: float = 0.7, horizon: float | str = "2h", cluster: Any = None, **more: Any
) -> dict[str, Any]:
    """Return a scenario document of generated work."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "horizon": horizon,
        "roundEvery": 30,
        "sampleEvery": "10m",
        "cluster": cluster or {"pools": [pool()]},
        "workload": {"generator": {"load": load, "kinds": list(kinds or (kind(),))}},
        **more,
    }


def write(folder: Path, document: dict[str, Any]) -> Path:
    """Write a scenario, and return its file."""
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def read(folder: Path, document: dict[str, Any]) -> Scenario:
    """Return a scenario as its file is read."""
    return load_scenario(write(folder, document))


def begin(folder: Path, document: dict[str, Any]) -> Simulation:
    """Return a simulation at its beginning."""
    return set_up(read(folder, document), folder)
