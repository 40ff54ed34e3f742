from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cost_models.registry import list_available
from firmament.configuration.document import BASE_POLICIES, SchedulerConfiguration, build_core, load
from firmament.core.configuration import RoundOptions
from poseidon.configuration.document import load as load_bridge
from poseidon.embedding import load_configuration
from protos.configuration.file import ConfigurationError
from protos.conventions.durations import parse_duration

HEADER = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def faults(folder: Path, text: str) -> list[str]:
    """Lines of the error that loading must raise, without the file's name."""
    path = write(folder, text)
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(path)
    assert str(caught.value) == "\n".join(caught.value.lines)
    assert all(line.startswith(str(path)) for line in caught.value.lines)
    return [line.removeprefix(str(path)).removeprefix(": ") for line in caught.value.lines]


def test_defaults_without_a_file():
    configuration = load(None)
    assert load_bridge(None).scheduler_names == ("poseidon",)
    assert configuration.policy.name == "cpu_mem"
    assert configuration.cost_models == ()


def test_a_minimal_file_equals_the_defaults(tmp_path):
    path = write(tmp_path, HEADER)
    assert load(path) == load(None)
    assert load_bridge(path) == load_bridge(None)


def test_values_are_read(tmp_path):
    text = HEADER + (
        "schedulerNames: [a, b]\n"
        "policy: {name: trivial, weight: 7}\n"
        "round: {batchingWindow: 5ms, solveTimeLimit: 1m30s, maxPasses: 3, seed: 4}\n"
    )
    path = write(tmp_path, text)
    configuration = load(path)
    assert load_bridge(path).scheduler_names == ("a", "b")
    assert (configuration.policy.name, configuration.policy.weight) == ("trivial", 7)
    assert configuration.round.batching_window == pytest.approx(0.005)
    assert configuration.round.solve_time_limit == pytest.approx(90.0)
    core = build_core(configuration)
    assert core.policy.weight == 7
    assert core.policy.model.name == "trivial"
    assert core.options.seed == 4
    assert core.options.passes.max_passes == 3


def test_no_time_limit(tmp_path):
    configuration = load(write(tmp_path, HEADER + "round: {solveTimeLimit: null}\n"))
    assert build_core(configuration).options.passes.solve_time_limit is None


def test_the_first_backoff_is_not_the_longer_one(tmp_path):
    assert faults(tmp_path, HEADER + "round: {firstBackoff: 90}\n") == [
        "round: firstBackoff (90 s) is longer than lastBackoff (60 s); lower the first or raise the last"
    ]
    assert load(write(tmp_path, HEADER + "round: {firstBackoff: 60}\n")).round.first_backoff == 60


def test_defaults_are_those_of_the_core():
    """But for reasons that go stale: a core that is driven by hand refreshes none by itself."""
    assert build_core(load(None)).options == replace(RoundOptions(), refresh_seconds=60.0)


@pytest.mark.parametrize(
    ("names", "read"), [("[a, b]", ("a", "b")), ('"*"', ("*",)), ('["*"]', ("*",)), ("b", ("b",))]
)
def test_scheduler_names(tmp_path, names, read):
    assert load_bridge(write(tmp_path, f"{HEADER}schedulerNames: {names}\n")).scheduler_names == read


@pytest.mark.parametrize("read", [load, load_bridge, load_configuration])
def test_the_effective_configuration_loads_again(tmp_path, read):
    text = HEADER + 'schedulerNames: "*"\npolicy: {name: trivial}\nround: {batchingWindow: 1ms}\n'
    configuration = read(write(tmp_path, text))
    printed = configuration.effective_yaml()
    again = read(write(tmp_path, printed))
    assert again.model_dump() == configuration.model_dump()
    assert again.effective_yaml() == printed
    assert list(yaml.safe_load(printed))[:3] == ["apiVersion", "kind", "schedulerNames"]


def test_all_faults_are_collected(tmp_path):
    text = (
        "apiVersion: firmament.io/v2\n"
        "schedulerName: [a]\n"
        "policy: {name: cpu_mem, weight: 0}\n"
        "round: {batchingWindow: 20x}\n"
        'costModels: [{name: nope}, {weight: "5"}]\n'
    )
    lines = faults(tmp_path, text)
    assert [line.split(":")[0] for line in lines] == [
        "apiVersion",
        "policy.weight",
        "costModels[1].name",
        "costModels[1].weight",
        "round.batchingWindow",
        "schedulerName",
        "kind",
        "costModels[0].name",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("polcy: {}", "polcy: is not a known key; did you mean policy?"),
        ("xyz: {}", "xyz: is not a known key; remove it or correct its spelling"),
        ("scheduler_names: [a]", "scheduler_names: is not a known key; did you mean schedulerNames?"),
        ("round: {seeds: 1}", "round.seeds: is not a known key; did you mean seed?"),
        (
            "utilisation: {metricsServer: {mod: auto}}",
            "utilisation.metricsServer.mod: is not a known key; did you mean mode?",
        ),
        (
            "costModels: [{name: topology, wieght: 1}]",
            "costModels[0].wieght: is not a known key; did you mean weight?",
        ),
        (
            "policy: {name: cpu_mem, weight: 1001}",
            "policy.weight: must be less than or equal to 1000, not 1001",
        ),
        ("policy: {name: cpu_mem, weight: 1.5}", "policy.weight: must be a whole number, not 1.5"),
        ("policy: {name: cpu_mem, weight: true}", "policy.weight: must be a whole number, not true"),
        (
            "costModels: [{name: topologie}]",
            "costModels[0].name: 'topologie' is not a known model; use one of: ",
        ),
        ("policy: {name: numa_fit}", "policy.name: numa_fit is not a base policy; move it to costModels"),
        ("policy: {name: cpu-mem}", "policy.name: 'cpu-mem' is not a known model; use one of: "),
        (
            "policy: {name: cpu_mem, args: {a: 1}}",
            "policy.args: cpu_mem: unknown argument 'a'; known: ",
        ),
        ("policy: {name: cpu_mem, args: {1: a, b: 2}}", "policy.args: keys must be texts, not 1"),
        (
            "costModels: [{name: topology, args: {topologyConfigMapNamespace: a}}]",
            "costModels[0].args: topology: unknown argument 'topologyConfigMapNamespace'; known: ",
        ),
        (
            "policy: {name: sjf, args: {a: 1}}",
            "policy.args: sjf: unknown argument 'a'; the model takes none",
        ),
        ("policy: cpu_mem", "policy: must be a map, not 'cpu_mem'"),
        ("policy: null", "policy: must be a map, not null"),
        ("costModels: {}", "costModels: must be a list, not a map"),
        ("fairShare: {enabled: 3}", "fairShare.enabled: must be true or false, not 3"),
        ("fairShare: {weights: {a: [1]}}", "fairShare.weights.a: must be a number, not a list"),
        ("volumes: {bindTimeout: 0}", "volumes.bindTimeout: must be greater than 0, not 0"),
        ("costModels: [{name: cpu_mem}]", "costModels[0].name: cpu_mem is not an overlay; move it to policy"),
        ("schedulerNames: []", "schedulerNames: must not be empty"),
        ("schedulerNames: ['']", "schedulerNames[0]: must not be empty"),
        ("round: {solveTimeLimit: 0}", "round.solveTimeLimit: 0 is out of range"),
        ("round: {solveTimeLimit: soon}", "round.solveTimeLimit: 'soon' is not a duration"),
        ("round: {batchingWindow: -1}", "round.batchingWindow: must be greater than or equal to 0, not -1"),
        ("round: {batchingWindow: .nan}", "round.batchingWindow: "),
        ("round: {maxPasses: 0}", "round.maxPasses: must be greater than or equal to 1, not 0"),
        ("round: 5", "round: must be a map, not 5"),
    ],
)
def test_one_line_per_fault(tmp_path, text, line):
    lines = faults(tmp_path, HEADER + text + "\n")
    assert len(lines) == 1
    assert lines[0].startswith(line)


def test_repeated_overlays_are_refused(tmp_path):
    lines = faults(tmp_path, HEADER + "costModels: [{name: topology}, {name: topology}]\n")
    assert "costModels[1].name: topology is already given as costModels[0]; remove one of them" in lines


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: [", ":1:5: is not valid YAML: "),
        ("a: 1\na: 2", ":2:1: is not valid YAML: key 'a' is given twice; remove one"),
        ("? [a]\n: 1", ": is not valid YAML: "),
        ("", "must hold exactly one YAML mapping"),
        ("- a", "must hold exactly one YAML mapping"),
        (f"{HEADER}---\n{HEADER}", "must hold exactly one YAML mapping"),
        ("a: \x00", "is not valid YAML"),
    ],
)
def test_unreadable_text(tmp_path, text, part):
    (line,) = faults(tmp_path, text)
    assert part in line


def test_unreadable_files(tmp_path):
    for path in (tmp_path / "missing.yaml", tmp_path):
        with pytest.raises(ConfigurationError, match="cannot be read"):
            load(path)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x80")
    with pytest.raises(ConfigurationError, match="UTF-8"):
        load(binary)


def test_building_from_values_checks_models_too():
    configuration = SchedulerConfiguration.model_validate({"policy": {"name": "numa_fit", "weight": 1}})
    with pytest.raises(ConfigurationError, match=r"^configuration: policy\.name: numa_fit"):
        build_core(configuration)


def test_every_named_policy_and_overlay_is_there():
    kinds = list_available()
    assert [name for name in BASE_POLICIES if kinds.get(name) != "policy"] == []
    overlays = {"network_overhead", "numa_fit", "load_threshold", "topology"}
    assert [name for name in sorted(overlays) if kinds.get(name) != "overlay"] == []


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(1, 1.0), (0.5, 0.5), ("20ms", 0.02), ("1.5s", 1.5), ("1m30s", 90.0), ("2h", 7200.0), ("10us", 1e-5)],
)
def test_durations(value, seconds):
    assert parse_duration(value) == pytest.approx(seconds)


@pytest.mark.parametrize("value", ["", "20", "ms", "-1s", "1 s", "1e3s", None, True, [1]])
def test_what_is_no_duration(value):
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(value)


PROFILES = "schedulerNames: [poseidon, batch]\nprofiles:\n- {schedulerName: batch, "


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "profiles: [{schedulerName: batch}]",
            "profiles[0].schedulerName: batch is not among schedulerNames; add it there",
        ),
        (
            PROFILES + "policy: {name: topology}}",
            "profiles[0].policy.name: topology is not a base policy; move it to costModels",
        ),
        (
            PROFILES + "costModels: [{name: machine_price}, {name: machine_price}]}",
            (
                "profiles[0].costModels[1].name: machine_price is already given as profiles[0].costModels[0]; "
                "remove one of them"
            ),
        ),
        (
            PROFILES + "policy: {name: trivial}}\n- {schedulerName: batch}",
            "profiles[1].schedulerName: batch is already that of profiles[0]; remove one of them",
        ),
        (
            "costModels: [{name: network_overhead, args: {namespaces: [a]}}]\n"
            + PROFILES
            + "costModels: [{name: network_overhead, args: {namespaces: [b]}}]}",
            (
                "profiles[0].costModels: network_overhead: args name other objects than those in costModels; "
                "write the same"
            ),
        ),
        (PROFILES + "polcy: {name: trivial}}", "profiles[0].polcy: is not a known key; did you mean policy?"),
    ],
)
def test_faults_of_profiles_name_the_profile(tmp_path, text, fault):
    path = tmp_path / "config.yaml"
    path.write_text(f"apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n{text}\n")
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(path)
    assert caught.value.lines == (f"{path}: {fault}",)
