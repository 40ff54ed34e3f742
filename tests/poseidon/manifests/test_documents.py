"""Files, folders, standard input, Lists; and what is no object."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from poseidon.manifests.documents import read_documents
from poseidon.manifests.yaml_text import MOST_LEVELS, YamlTextError, parse_yaml
from tests.support.preloaded import quick_python

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"


def read(*paths):
    defects: list[str] = []
    found = list(read_documents([str(path) for path in paths], defects, []))
    return found, defects


def names(documents):
    return [document.value["metadata"]["name"] for document in documents]


def test_folders_are_read_in_sorted_order_to_any_depth(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x.yml").write_text(POD.replace("name: a", "name: second"))
    (tmp_path / "a.yaml").write_text(POD.replace("name: a", "name: first"))
    (tmp_path / "c.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "third"}})
    )
    (tmp_path / "notes.txt").write_text("not: read")
    found, defects = read(tmp_path)
    assert names(found) == ["first", "second", "third"]
    assert not defects


def test_several_documents_are_told_apart(tmp_path):
    file = tmp_path / "pods.yaml"
    file.write_text(f"---\n{POD}---\n---\n# nothing\n---\n{POD.replace('name: a', 'name: b')}")
    found, defects = read(file)
    assert names(found) == ["a", "b"]
    assert found[1].source == f"{file} (document 4)"
    assert not defects


def test_lists_are_taken_apart(tmp_path):
    file = tmp_path / "list.json"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    nested = {"apiVersion": "v1", "kind": "List", "items": [pod]}
    typed = {"apiVersion": "apps/v1", "kind": "DeploymentList", "items": [{"metadata": {"name": "web"}}]}
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [nested, typed]}))
    found, defects = read(file)
    assert [(each.api_version, each.kind) for each in found] == [("v1", "Pod"), ("apps/v1", "Deployment")]
    assert found[1].source == f"{file} (item 2) (item 1)"
    assert not defects


def test_empty_lists_are_no_fault(tmp_path):
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: List\nitems: []\n")
    (tmp_path / "b.yaml").write_text("apiVersion: v1\nkind: PodList\nitems:\n")
    assert read(tmp_path) == ([], [])


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(POD.encode())))
    found, defects = read("-")
    assert names(found) == ["a"]
    assert found[0].source == "<stdin>"
    assert not defects


def test_json_on_standard_input(monkeypatch):
    text = '{\n\t"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}'
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert names(read("-")[0]) == ["a"]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.yaml", b"a: [", ":2:1: not valid YAML: did not find expected node content; correct it"),
        (
            "a.yaml",
            b"a: 1\na: 2\n",
            ":2:1: not valid YAML: key 'a' is given twice; remove one of them; correct it",
        ),
        (
            "a.yaml",
            b"a: !!python/name:os.system x",
            ":1:4: not valid YAML: could not determine a constructor",
        ),
        ("a.yaml", b"\x00", ": not valid YAML: unacceptable character #x0000"),
        ("a.yaml", b"\xff\xfe\xfa", ": byte 0 is not UTF-8 text; save the file as UTF-8"),
        ("a.json", b"{,}", ":1:2: not valid JSON: "),
        ("a.json", b"[" * 100_000, ": nested too deeply"),
        ("a.yaml", b"- 1\n", ": expected an object with apiVersion and kind, got a list; correct it"),
        ("a.yaml", b"hello\n", ": expected an object with apiVersion and kind, got str 'hello'; correct it"),
        ("a.yaml", b"kind: Pod\n", ": apiVersion: missing; every Kubernetes object needs one"),
        ("a.yaml", b"apiVersion: v1\n", ": kind: missing; every Kubernetes object needs one"),
        ("a.yaml", b"apiVersion: v1\nkind: [Pod]\n", ": kind: missing; every Kubernetes object needs one"),
        ("a.yaml", b"apiVersion: v1\nkind: List\nitems: 5\n", ": List: items: expected a list; correct it"),
    ],
)
def test_each_fault_is_one_line_with_the_file(tmp_path, name, text, line):
    file = tmp_path / name
    file.write_bytes(text)
    found, defects = read(file)
    assert found == []
    (defect,) = defects
    assert defect.startswith(f"{file}{line}")
    assert "\n" not in defect


def test_what_cannot_be_read(tmp_path):
    (tmp_path / "empty").mkdir()
    found, defects = read(tmp_path / "nowhere.yaml", tmp_path / "empty")
    assert found == []
    assert defects == [
        f"{tmp_path}/nowhere.yaml: cannot be read: No such file or directory; name a readable file or folder",
        f"{tmp_path}/empty: the folder holds no .yaml, .yml, .json files; name another one",
    ]


def test_plain_scalars_are_those_of_kubernetes():
    text = "[1, -5, 0x10, 010, 1.5, 1e3, 2026-01-01T00:00:00Z, 12:30:30, yes, off, ~, '1', 1_000]"
    assert parse_yaml(text) == [
        [1, -5, 16, "010", 1.5, "1e3", "2026-01-01T00:00:00Z", "12:30:30", True, False, None, "1", "1_000"]
    ]


def test_merged_keys_may_be_overridden():
    assert parse_yaml("a: &x {k: 1}\nb: {<<: *x, k: 2}") == [{"a": {"k": 1}, "b": {"k": 2}}]


def test_an_absurdly_long_number_is_no_crash():
    with pytest.raises(YamlTextError):
        parse_yaml("a: " + "9" * 5000)


@pytest.mark.parametrize(
    "text",
    [
        "x: " + "[" * 100_000 + "]" * 100_000,
        "x: " + "{a: " * 50_000 + "}" * 50_000,
        "x: " + "[{a: " * 50_000,
        "- " * 30_000 + "a",
        "? " * 30_000 + "a",
        "\n".join(" " * level + "a:" for level in range(MOST_LEVELS + 2)),
    ],
    ids=["lists", "maps", "mixed, not ended", "dashes", "keys", "indented"],
)
def test_no_depth_ends_the_process(tmp_path, text):
    file = tmp_path / "input.yaml"
    file.write_text(f"apiVersion: v1\nkind: Pod\n---\n{text}\n")
    found, defects = read(file)
    assert found == []
    (defect,) = defects
    assert "nested more than 1,000 levels deep" in defect


def test_a_chain_of_aliases_is_no_depth_that_ends_the_process(tmp_path):
    chain = "\n".join(f"a{level}: &a{level} [*a{level - 1}]" for level in range(1, 30_000))
    file = tmp_path / "input.yaml"
    file.write_text(f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\na0: &a0 [x]\n{chain}\n")
    assert subprocess.run([quick_python(), "-m", "poseidon", "plan", "-f", file], check=False).returncode == 2


def test_brackets_in_quotes_and_long_lines_are_no_depth():
    texts = ["[" * 5_000, "{" * 5_000, " " * 5_000 + "a", "- " * 5_000 + "a", "}]" * 500]
    assert parse_yaml(f"{'[' * 300}{']' * 300}\n---\n{json.dumps(texts)}")[1] == texts


def test_half_a_character_becomes_a_sign_for_one_that_cannot_be_read(tmp_path):
    file = tmp_path / "input.json"
    labels = r'{"a": "\ud800", "b": "\ud83d\ude00"}'
    file.write_text(
        f'{{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "n", "labels": {labels}}}}}'
    )
    (found,), defects = read(file)
    assert found.value["metadata"]["labels"] == {"a": "\ufffd", "b": "\U0001f600"}
    assert not defects
