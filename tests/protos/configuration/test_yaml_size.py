"""Aliases and merge keys that multiply are counted before anything is made of them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.configuration import document as solver
from poseidon.cli import main
from poseidon.configuration import document as bridge
from poseidon.manifests.loader import ManifestError, load_manifests
from protos.configuration.file import ConfigurationError
from protos.configuration.yaml_size import count_values
from tests.support.effort import examples

HEADER = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\n"


def multiplied(levels: int, *, merged: bool) -> str:
    """Nine values to the power of ``levels``, in as many lines."""
    keys = ", ".join(f"k{number}: 1" for number in range(9))
    lines = [f"a0: &a0 {{{keys}}}"]
    for level in range(1, levels):
        several = f"[{', '.join([f'*a{level - 1}'] * 9)}]"
        lines.append(f"a{level}: &a{level} " + (f"{{<<: {several}}}" if merged else several))
    return "\n".join(lines) + "\n"


SHARED_CONTAINERS = (
    "port: &port {containerPort: 80}\n"
    f"one: &one {{name: c, ports: [{', '.join(['*port'] * 1000)}]}}\n"
    f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{containers: [{', '.join(['*one'] * 1000)}]}}\n"
)
BAD = {
    "merged": POD + multiplied(30, merged=True),
    "laughs": POD + multiplied(30, merged=False),
    "shared": SHARED_CONTAINERS,
    "many documents": "---\n".join(POD + multiplied(5, merged=True) for _ in range(10)),
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_such_manifests_are_refused_in_one_line(tmp_path: Path, text: str):
    file = tmp_path / "input.yaml"
    file.write_text(text)
    with pytest.raises(ManifestError) as caught:
        load_manifests([str(file)])
    (line,) = caught.value.lines
    assert "aliases and merge keys (<<) make " in line


@pytest.mark.parametrize("load", [solver.load, bridge.load], ids=["solver", "bridge"])
@pytest.mark.parametrize("merged", [True, False])
def test_such_a_configuration_is_refused_in_one_line(tmp_path: Path, load, merged: bool):
    file = tmp_path / "configuration.yaml"
    file.write_text(HEADER + multiplied(30, merged=merged))
    with pytest.raises(ConfigurationError) as caught:
        load(file)
    (line,) = caught.value.lines
    assert line.startswith(
        f"{file}:1:1: is not valid YAML: aliases and merge keys (<<) make countless values"
    )


def test_the_command_ends_with_status_2(tmp_path: Path):
    file = tmp_path / "input.yaml"
    file.write_text(BAD["merged"])
    result = CliRunner().invoke(main, ["plan", "-f", str(file)])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)


def test_in_a_folder_what_is_no_object_is_left_out(tmp_path: Path):
    (tmp_path / "values.yaml").write_text(multiplied(30, merged=True))
    (tmp_path / "pod.yaml").write_text(POD)
    found = load_manifests([str(tmp_path)])
    assert len(found.pods) == 1
    assert any("values.yaml" in line for line in found.warnings)


def test_aliases_as_people_use_them_are_read(tmp_path: Path):
    pods = "---\n".join(
        f"x: &common {{app: web, tier: front}}\napiVersion: v1\nkind: Pod\n"
        f"metadata: {{name: p{number}, labels: {{<<: *common, own: x}}}}\nspec: {{containers: [{{name: c}}]}}\n"
        for number in range(200)
    )
    file = tmp_path / "input.yaml"
    file.write_text(pods)
    found = load_manifests([str(file)]).pods
    assert len(found) == 200
    assert found[0].metadata.labels == {"app": "web", "tier": "front", "own": "x"}


def test_a_value_that_contains_itself_is_no_hang(tmp_path: Path):
    file = tmp_path / "input.yaml"
    for text in ("a: &a [*a, *a]\n", "a: &a {<<: *a}\n", "a: &a {<<: [*a, *a]}\n"):
        file.write_text(POD + text)
        with suppress(ManifestError):
            load_manifests([str(file)])


# --- against an oracle that writes every alias out --------------------------------------------------------------


@st.composite
def graphs(draw: st.DrawFn) -> yaml.Node:
    """A document whose parts are shared here and there; a part holds only earlier ones."""
    nodes: list[yaml.Node] = [yaml.ScalarNode("tag:yaml.org,2002:str", "x")]
    for _ in range(draw(st.integers(1, 8))):
        parts = [nodes[draw(st.integers(0, len(nodes) - 1))] for _ in range(draw(st.integers(0, 3)))]
        if draw(st.booleans()):
            nodes.append(yaml.SequenceNode("tag:yaml.org,2002:seq", parts))
        else:
            pairs = [(yaml.ScalarNode("tag:yaml.org,2002:str", "k"), each) for each in parts]
            nodes.append(yaml.MappingNode("tag:yaml.org,2002:map", pairs))
    return nodes[-1]


def written_out(node: yaml.Node) -> list[int]:
    found = [id(node)]
    if isinstance(node, yaml.MappingNode):
        found += [each for pair in node.value for part in pair for each in written_out(part)]
    elif isinstance(node, yaml.SequenceNode):
        found += [each for part in node.value for each in written_out(part)]
    return found


@settings(max_examples=examples(300))
@given(graphs())
def test_values_are_counted_as_if_written_out(document: yaml.Node):
    every = written_out(document)
    assert count_values(document) == (len(set(every)), len(every))
