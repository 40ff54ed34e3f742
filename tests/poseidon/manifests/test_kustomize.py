"""Kustomizations in folders are followed where a program is there that does so, and named where none is."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from poseidon.cli import main
from poseidon.manifests.kustomize import KustomizeError, build_kustomization
from poseidon.manifests.loader import ManifestError, load_manifests

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}
"""
MORE = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3}\n"
HEADER = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
REPOSITORY = {
    "base/kustomization.yaml": f"{HEADER}resources: [deployment.yaml]\n",
    "base/deployment.yaml": DEPLOYMENT,
    "overlays/prod/kustomization.yaml": f"{HEADER}resources: [../../base]\npatches: [{{path: more.yaml}}]\n",
    "overlays/prod/more.yaml": MORE,
    "extra.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: extra}\nspec: {containers: [{name: c}]}\n",
}
TOOL = """\
#!/bin/sh
echo "$@" >> "{log}"
for folder; do :; done
case "$folder" in
  *silent*) exit 1;;
  *broken*) echo "Error: accumulating resources: no such file" >&2; exit 1;;
  *) cat "{made}";;
esac
"""


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def names(loaded):
    return sorted(each.metadata.name for each in loaded.pods)


@pytest.fixture
def repository(tmp_path):
    return write(tmp_path / "app", REPOSITORY)


@pytest.fixture
def without_tools(monkeypatch, tmp_path):
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


@pytest.fixture
def tool(monkeypatch, tmp_path):
    """Put a program named ``kustomize`` or ``kubectl`` on PATH, alone; its calls are in the file that is returned."""

    def put(name="kustomize"):
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        (folder / "made.yaml").write_text(DEPLOYMENT.replace("replicas: 1", "replicas: 3"))
        (folder / name).write_text(TOOL.format(log=folder / "log", made=folder / "made.yaml"))
        (folder / name).chmod(0o755)
        for needed in ("sh", "cat"):
            (folder / needed).symlink_to(shutil.which(needed) or "")
        monkeypatch.setenv("PATH", str(folder))
        return folder / "log"

    return put


@pytest.mark.parametrize(("name", "verb"), [("kustomize", "build"), ("kubectl", "kustomize")])
def test_those_that_no_other_uses_are_followed_and_stand_for_their_files(repository, tool, name, verb):
    log = tool(name)
    loaded = load_manifests([str(repository)])
    assert names(loaded) == ["extra", "web-0", "web-1", "web-2"]
    assert log.read_text() == f"{verb} {repository}/overlays/prod\n"
    assert loaded.warnings == ()


def test_without_a_program_files_are_read_as_they_are(repository, without_tools):
    loaded = load_manifests([str(repository)])
    assert names(loaded) == ["extra", "web-0"]
    assert loaded.warnings == (
        (
            f"{repository}: left out, as they are patches: overlays/prod/more.yaml; "
            "with kustomize or kubectl on PATH they are applied"
        ),
        (
            f"{repository}: left out, as they are kustomizations: base/kustomization.yaml, "
            "overlays/prod/kustomization.yaml; with kustomize or kubectl on PATH they are followed"
        ),
    )


def test_where_the_program_fails_files_are_read_as_they_are(tmp_path, tool):
    tool()
    files = {"kustomization.yaml": f"{HEADER}resources: [gone.yaml]\n", "pod.yaml": REPOSITORY["extra.yaml"]}
    folder = write(tmp_path / "broken", files)
    loaded = load_manifests([str(folder)])
    assert names(loaded) == ["extra"]
    assert loaded.warnings[0] == (
        f"{folder}/kustomization.yaml: not followed, its files are read as they are: "
        "kustomize: accumulating resources: no such file"
    )


def test_a_component_makes_nothing_by_itself(tmp_path, tool):
    log = tool()
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [pod.yaml]\n"
    files = {"kustomization.yaml": component, "pod.yaml": REPOSITORY["extra.yaml"]}
    assert names(load_manifests([str(write(tmp_path / "part", files))])) == ["extra"]
    assert not log.exists()


@pytest.mark.parametrize("path", ["overlays/prod", "overlays/prod/kustomization.yaml"])
def test_a_kustomization_that_is_named_itself_is_followed(repository, tool, path):
    tool()
    assert len(load_manifests([str(repository / path)]).pods) == 3


def test_k_names_one(repository, tool):
    tool()
    result = CliRunner().invoke(main, ["plan", "-k", str(repository / "overlays/prod")])
    assert result.exit_code == 0
    assert re.search(r"default/Deployment/web +3 ", result.stdout)


@pytest.mark.parametrize(
    ("there", "problem"), [(True, "no such file"), (False, "needs kustomize or kubectl on PATH")]
)
def test_k_that_cannot_be_followed_ends_with_status_2(tmp_path, tool, monkeypatch, there, problem):
    tool()
    if not there:
        monkeypatch.setenv("PATH", str(tmp_path))
    result = CliRunner().invoke(main, ["plan", "-k", str(tmp_path / "broken")])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert problem in result.stderr


@pytest.mark.skipif(not shutil.which("kubectl"), reason="needs kubectl")
def test_kubectl_makes_of_it_what_is_expected(repository):
    loaded = load_manifests([str(repository)])
    assert names(loaded) == ["extra", "web-0", "web-1", "web-2"]


# --- alternatives of one object ---------------------------------------------------------------------------------


def test_of_alternatives_the_last_counts_and_both_files_are_named(tmp_path):
    files = {
        "a.yaml": DEPLOYMENT,
        "b.yaml": DEPLOYMENT.replace("replicas: 1", "replicas: 2"),
        "c.yaml": DEPLOYMENT,
    }
    folder = write(tmp_path / "app", {name: files[name] for name in ("a.yaml", "b.yaml")})
    loaded = load_manifests([str(folder)])
    assert names(loaded) == ["web-0", "web-1"]
    assert loaded.warnings == (
        f"{folder}/b.yaml: Deployment default/web: given differently in {folder}/a.yaml as well; this one counts",
    )
    with pytest.raises(ManifestError) as caught:
        load_manifests([str(folder)], strict=True)
    assert caught.value.lines == (
        f"{folder}/b.yaml: Deployment default/web: given differently in {folder}/a.yaml as well; remove one of the two",
    )
    write(folder, files)
    loaded = load_manifests([str(folder)])
    assert (names(loaded), len(loaded.warnings)) == (["web-0"], 2)


def test_strict_is_an_option_of_the_command(tmp_path):
    write(tmp_path, {"a.yaml": DEPLOYMENT, "b.yaml": DEPLOYMENT.replace("replicas: 1", "replicas: 2")})
    assert CliRunner().invoke(main, ["plan", "-f", str(tmp_path)]).exit_code == 0
    assert CliRunner().invoke(main, ["plan", "--strict", "-f", str(tmp_path)]).exit_code == 2


def test_equal_copies_are_one_object(tmp_path):
    folder = write(tmp_path, {"a.yaml": DEPLOYMENT, "b.yaml": DEPLOYMENT})
    loaded = load_manifests([str(folder)], strict=True)
    assert (names(loaded), loaded.warnings) == (["web-0"], ())


def test_documents_of_no_kind_are_left_out_of_folders_and_refused_by_name(tmp_path):
    values = "replicaCount: 3\nimage: {tag: x}\n"
    folder = write(tmp_path, {"values.yaml": values, "web.yaml": f"{DEPLOYMENT}---\n{values}"})
    loaded = load_manifests([str(folder)])
    assert names(loaded) == ["web-0"]
    assert loaded.warnings == (
        f"{folder}: left out, as they hold no Kubernetes objects: values.yaml, web.yaml (document 2)",
    )
    with pytest.raises(ManifestError, match="apiVersion: missing"):
        load_manifests([str(folder / "values.yaml")])


# --- input without nodes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "what"), [("", "holds neither nodes nor pods"), (REPOSITORY["extra.yaml"], "holds no nodes")]
)
def test_input_without_nodes_says_how_to_get_them(tmp_path, text, what):
    file = tmp_path / "input.yaml"
    file.write_text(text)
    result = CliRunner().invoke(main, ["plan", "-f", str(file)])
    assert result.exit_code == 0
    assert result.stderr.startswith(f"warning: the input {what}")
    assert "`kubectl get nodes -o yaml > nodes.yaml`" in result.stderr


def test_a_program_that_fails_without_a_word_is_said_to_say_nothing(tmp_path, tool):
    tool()
    folder = tmp_path / "silent"
    folder.mkdir()
    with pytest.raises(KustomizeError, match=r"^kustomize: it says nothing$"):
        build_kustomization(folder)
