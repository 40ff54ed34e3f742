"""A scenario with faults is refused as a whole, with a line for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.simulate.setup import SimulationError
from protos.configuration.file import ConfigurationError
from tests.poseidon.simulate.scenarios import begin, kind, pool, read, scenario, write


def change(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return the document with one place changed; ``path`` is such as ``cluster.pools.0.count``."""
    place: Any = document
    *way, last = path.split(".")
    for step in way:
        place = place[int(step)] if step.isdigit() else place[step]
    place[int(last) if last.isdigit() else last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("horizon", "tomorrow", "horizon: 'tomorrow' is not a duration"),
        ("colour", "red", "colour: is not a known key"),
        ("kind", "Simulations", "kind: must be 'Simulation', not 'Simulations'"),
        ("cluster.pools.0.name", "A b", "cluster.pools[0].name"),
        ("cluster.pools.0.colour", "red", "cluster.pools[0].colour: is not a known key"),
        ("workload.generator.load", -1, "workload.generator.load"),
        (
            "workload.generator.kinds.0.duration",
            {"distribution": "lognormal"},
            "a lognormal duration needs median",
        ),
        (
            "workload.generator.kinds.0.duration",
            {"mean": 1, "least": 5, "most": 2},
            "least is more than most",
        ),
        (
            "cluster.drains",
            [{"at": 1, "nodes": 1, "pool": "other"}],
            "cluster.drains[0].pool: there is no pool other",
        ),
        ("sampleEvery", 1e-6, "sampleEvery: must be at least "),
        ("cluster.failures", {"every": 1e-6}, "cluster.failures.every: must be at least "),
        (
            "cluster.pools.0.autoscaling",
            {"most": 5, "every": 1e-6},
            "cluster.pools[0].autoscaling.every: must be at least ",
        ),
        (
            "workload",
            {"trace": {"format": "openb", "path": ".", "creations": {"perSecond": 1}}},
            "workload.trace.creations: has no effect on openb",
        ),
        ("cluster.pools", [pool(), pool()], "cluster.pools: general is there twice; rename one"),
        ("cluster.pools", [], "workload.generator.load: is a part of what nodes offer, and there are none"),
    ],
)
def test_a_fault_names_its_field_and_the_remedy(tmp_path: Path, path: str, value: Any, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, change(scenario(), path, value))
    assert any(said in line for line in caught.value.lines), caught.value.lines


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("workload.generator.kinds.0.requests", {}, "(web): requests no cpu, by which the load is counted"),
        ("workload.generator.resource", "gpu", "no node offers gpu; name another"),
        ("workload.generator.kinds.0.pod", {"spec": {"containers": 3}}, "workload (web): "),
        ("cluster.pools.0.allocatable", {"cpu": "a lot"}, "cluster.pools (general): status.allocatable"),
        ("workload.generator.capacity", "a lot", "workload.generator.capacity"),
        ("workload.generator.capacity", "1e12", "workload.generator: would draw about "),
        ("configuration", "none.yaml", "none.yaml: cannot be read"),
        ("cluster.files", ["none"], "none"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_runs(
    tmp_path: Path, path: str, value: Any, said: str
) -> None:
    with pytest.raises(SimulationError) as caught:
        begin(tmp_path, change(scenario(), path, value))
    assert said in "\n".join(caught.value.lines)


def test_the_command_ends_with_status_2_and_a_line_per_fault(tmp_path: Path) -> None:
    document = change(change(scenario(kind()), "horizon", "never"), "colour", "red")
    result = CliRunner().invoke(main, ["simulate", str(write(tmp_path, document))])
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 2
    assert result.stdout == ""


def test_one_scenario_or_one_saved_simulation_is_named() -> None:
    result = CliRunner().invoke(main, ["simulate"])
    assert result.exit_code == 2
    assert "name one scenario, or --resume FILE" in result.stderr
