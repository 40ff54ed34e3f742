"""Each program heeds a part of the file, and of the other part knows the sections' names and defaults."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from firmament.configuration import document as solver
from poseidon.configuration import document as bridge
from poseidon.embedding import load_configuration
from protos.configuration.file import ConfigurationError
from protos.configuration.sections import defaults

ROOT = Path(__file__).resolve().parents[3]
HEADER = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"
BOTH = {"apiVersion", "kind", "costModels", "gangs", "podTopologySpread", "profiles"}
ALONE = """
import sys
class Refusing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in ("firmament", "cost_models", "ortools"):
            raise ImportError(f"{name} is not here")
sys.meta_path.insert(0, Refusing())
from poseidon.cli import main
main()
"""


def write(folder, text):
    path = folder / "config.yaml"
    path.write_text(HEADER + text, encoding="utf-8")
    return path


def run_without_the_solver(*arguments):
    return subprocess.run(
        [sys.executable, "-c", ALONE, "run", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_defaults_that_each_knows_of_the_other_are_the_others_own():
    parts = (solver.SchedulerConfiguration(), bridge.BridgeConfiguration())
    dumps = [part.model_dump(by_alias=True, mode="json") for part in parts]
    assert {**dumps[0], **dumps[1]} == defaults()
    assert set(dumps[0]) & set(dumps[1]) == BOTH
    assert [part.effective_yaml() for part in parts] == [yaml.safe_dump(defaults(), sort_keys=False)] * 2


@pytest.mark.parametrize("load", [solver.load, bridge.load, load_configuration])
def test_unknown_sections_are_told_by_both(tmp_path, load):
    with pytest.raises(ConfigurationError) as caught:
        load(write(tmp_path, "strem: {}\npolcy: {}\nnonsense: 1\n"))
    assert [line.partition(": ")[2] for line in caught.value.lines] == [
        "strem: is not a known key; did you mean stream?",
        "polcy: is not a known key; did you mean policy?",
        "nonsense: is not a known key; remove it or correct its spelling",
    ]


@pytest.mark.parametrize(
    ("text", "owner", "other"),
    [
        ("round: {seeds: 1}", solver.load, bridge.load),
        ("policy: {name: nonsense}", solver.load, bridge.load),
        ("limits: {streams: 0}", solver.load, bridge.load),
        ("stream: {silenceTimeout: 0}", bridge.load, solver.load),
        ("schedulerNames: []", bridge.load, solver.load),
        ("utilisation: {prometheus: {}}", bridge.load, solver.load),
    ],
)
def test_each_part_is_checked_by_its_owner_and_by_commands_that_embed_the_solver(
    tmp_path, text, owner, other
):
    path = write(tmp_path, text)
    other(path)
    for load in (owner, load_configuration):
        with pytest.raises(ConfigurationError):
            load(path)


@pytest.mark.parametrize("text", ["gangs: {timeout: 0}", "costModels: [{weight: 1}]", "podTopologySpread: 1"])
def test_what_both_heed_is_told_alike(tmp_path, text):
    path, told = write(tmp_path, text), []
    for load in (solver.load, bridge.load, load_configuration):
        with pytest.raises(ConfigurationError) as caught:
            load(path)
        told.append(caught.value.lines)
    assert told[0] == told[1] == told[2]
    assert len(told[0]) == 1


def test_both_print_the_same_of_a_file(tmp_path):
    path = write(
        tmp_path,
        'schedulerNames: "*"\npolicy: {name: trivial}\nround: {batchingWindow: 5ms, solveTimeLimit: null}\n'
        "stream: {silenceTimeout: 1m30s}\nannouncements: {countsAfter: 5}\nevictions: {perSecond: 9}\n"
        "utilisation: {nodeMetric: off, metricsServer: {mode: off}}\nlimits: {helloTimeout: 5}\n"
        "gangs: {timeout: 90s}\ncostModels: [{name: topology}]\nfairShare: {weights: {a: 2.5}}\n",
    )
    whole = load_configuration(path).effective_yaml()
    assert solver.load(path).effective_yaml() == whole
    assert bridge.load(path).effective_yaml() == whole
    shown = yaml.safe_load(whole)
    assert shown["stream"] == {"silenceTimeout": 90.0}
    assert shown["utilisation"]["nodeMetric"] == "off"


def test_an_argument_is_told_once(tmp_path):
    path = write(tmp_path, "costModels: [{name: network_overhead, args: {namespaces: 5, percentile: [1]}}]\n")
    with pytest.raises(ConfigurationError) as caught:
        bridge.load(path)
    assert [line.partition(": ")[2] for line in caught.value.lines] == [
        "costModels: network_overhead: args.namespaces: is 5; write a list of texts",
        "costModels: network_overhead: args.percentile: is [1]; write a text",
    ]
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(path)
    [line] = caught.value.lines
    assert line.startswith(f"{path}: costModels[0].args: network_overhead: namespaces is 5")


def test_the_bridge_needs_nothing_of_the_solver_to_read_its_configuration(tmp_path):
    [deployed] = yaml.safe_load_all((ROOT / "deploy/configmap.yaml").read_text())
    path = tmp_path / "scheduler.yaml"
    path.write_text(deployed["data"]["scheduler.yaml"])
    shown = run_without_the_solver("--print-config", "--config", str(path))
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == solver.load(path).effective_yaml()
    begun = run_without_the_solver("--config", str(path), "--kubeconfig", str(tmp_path / "nowhere"))
    assert begun.returncode == 2
    assert "nowhere: no such file" in begun.stderr
