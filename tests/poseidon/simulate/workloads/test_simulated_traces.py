"""``poseidon simulate`` reads a small file of every format, and runs all that it holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from poseidon.cli import main
from tests.poseidon.simulate.workloads.test_clusters import ALIBABA, GOOGLE_2011, GOOGLE_2019, HELIOS, PHILLY
from tests.poseidon.simulate.workloads.test_traces import AZURE, KUEUE, OPENB_NODES, OPENB_PODS, SWF

POOL = {"name": "node", "count": 4, "allocatable": {"cpu": 64, "memory": "1Ti", "nvidia.com/gpu": 8}}
KIND = {"name": "job", "requests": {"cpu": 1}, "duration": {"mean": 1}}


def simulate(folder: Path, trace: dict[str, Any], *pools: dict[str, Any]) -> Result:
    """Return what the command says of a trace; without pools, the scenario has no ``cluster``."""
    scenario = {
        "apiVersion": "firmament.io/v1alpha1", "kind": "Simulation", "horizon": "24h", "roundEvery": "10s",
        "sampleEvery": "24h", "workload": {"trace": trace},
    }  # fmt: skip
    if pools:
        scenario["cluster"] = {"pools": list(pools)}
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario))
    return CliRunner().invoke(main, ["simulate", str(path), "-o", "json"])


@pytest.mark.parametrize(
    ("trace_format", "text", "tasks"),
    [
        ("openb", OPENB_PODS, 3),
        ("swf", SWF, 5),
        ("azure-llm", AZURE, 2),
        ("kueue", KUEUE, 30),
        ("google-2011", GOOGLE_2011, 2),
        ("google-2019", GOOGLE_2019, 2),
        ("alibaba-2018", ALIBABA, 5),
        ("philly", json.dumps(PHILLY), 3),
        ("helios", HELIOS, 3),
    ],
)
def test_a_trace_of_each_format_is_simulated(
    tmp_path: Path, trace_format: str, text: str, tasks: int
) -> None:
    (tmp_path / "openb_node_list_gpu_node.csv").write_text(OPENB_NODES)
    (tmp_path / "trace").write_text(text)
    trace: dict[str, Any] = {"format": trace_format, "path": "trace"}
    if trace_format in ("swf", "azure-llm"):
        trace["kind"] = KIND
    result = simulate(tmp_path, trace, *([] if trace_format in ("openb", "kueue") else [POOL]))
    assert result.exit_code == 0, result.output
    whole = json.loads(result.stdout)["waits"][-1]
    assert (whole["arrived"], whole["placed"]) == (tasks, tasks)


def test_a_trace_without_nodes_needs_some(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text(HELIOS)
    result = simulate(tmp_path, {"format": "helios", "path": "trace"})
    assert result.exit_code != 0
    assert "cluster: has no nodes, and a trace of helios has none; give cluster.pools" in result.output


def test_a_trace_in_the_place_of_a_scenario_is_told_where_it_belongs(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text(SWF.replace("; a remark", "; MaxProcs: 4").split("1 100")[0])
    result = CliRunner().invoke(main, ["simulate", str(path)])
    assert result.exit_code != 0
    assert "log.swf is not a scenario; if it is a trace, name it in workload.trace.path" in result.output
