"""Folders of published shape are read: what is an object counts, what is none is named, nothing is an error."""

from __future__ import annotations

import pytest

from poseidon.manifests.loader import ManifestError, load_manifests
from tests.poseidon.manifests.public_manifests import (
    ANSWERS,
    CHART,
    CRON,
    GUESTBOOK,
    NODES,
    OPERATOR,
    OTHERS,
    STATEFUL,
    WORDPRESS,
)


@pytest.fixture
def folder(tmp_path):
    """Return a function that writes files and returns their folder."""

    def write(files):
        for name, text in files.items():
            file = tmp_path / "app" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode("utf-8", "surrogateescape"))
        return tmp_path / "app"

    return write


@pytest.fixture
def without_programs(monkeypatch, tmp_path):
    """Let there be no program that follows kustomizations."""
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def read(folder, tmp_path):
    """Return a function that reads files beside two nodes: names of pods, and warnings without the folder's name."""

    def of(files):
        where = folder(files)
        (tmp_path / "nodes.yaml").write_text(NODES)
        loaded = load_manifests([str(tmp_path / "nodes.yaml"), str(where)])
        assert len(loaded.nodes) == 2
        return sorted(each.metadata.name for each in loaded.pods), [
            line.replace(f"{where}/", "").replace(f"{where}: ", "") for line in loaded.warnings
        ]

    return of


def test_guestbook_of_all_times(read):
    pods, warnings = read(GUESTBOOK)
    assert pods == [
        "frontend-0",
        "frontend-1",
        "frontend-2",
        "redis-master-0",
        "redis-slave-0",
        "redis-slave-1",
    ]
    assert warnings == []


def test_wordpress_with_its_kustomization(read, without_programs):
    pods, warnings = read(WORDPRESS)
    assert pods == ["wordpress-0", "wordpress-mysql-0"]
    *left_out, claim = warnings
    assert left_out == [
        "left out, as they are patches: more-replicas.yaml; with kustomize or kubectl on PATH they are applied",
        (
            "left out, as they are kustomizations: kustomization.yaml; "
            "with kustomize or kubectl on PATH they are followed"
        ),
    ]
    assert claim.startswith("PersistentVolumeClaim default/mysql-pv-claim: names no StorageClass")


def test_stateful_sets_with_claims_and_budgets(read):
    pods, warnings = read(STATEFUL)
    assert pods == ["cassandra-0", "cassandra-1", "cassandra-2", "zk-0", "zk-1"]
    assert warnings == []


def test_an_operator_with_dashboards(read):
    pods, warnings = read(OPERATOR)
    assert pods == ["node-exporter-0", "node-exporter-1"]
    assert warnings == [
        (
            "left out, as they hold no Kubernetes objects: dashboards/binary.json, dashboards/commented.json:2:3, "
            "dashboards/list.json, dashboards/nodes.json"
        )
    ]


def test_a_chart(read):
    pods, warnings = read(CHART)
    assert pods == ["smoke-0"]
    assert warnings == [
        (
            "left out, as they hold no Kubernetes objects: Chart.yaml, ci/.gitlab-ci.yml:1:17, "
            "ci/docker-compose.yaml, ci/mkdocs.yml:2:10, values.yaml"
        ),
        (
            "left out, as they are templates: templates/deployment.yaml; "
            "render them first, as helm template does"
        ),
        "templates/quoted.yaml: left out, as templates; render them first, as helm template does",
    ]


def test_workloads_of_other_projects(read):
    pods, warnings = read(OTHERS)
    assert len(pods) == 28
    assert {"coordinator-driver-0-1", "vllm-2-3", "mnist-worker-0", "raycluster-head", "second-4"} <= {*pods}
    assert warnings == []


def test_cron_jobs_start_nothing_and_say_so(read):
    pods, warnings = read(CRON)
    assert pods == ["process-item-0-0", "process-item-0-1"]
    (warning,) = warnings
    assert warning.startswith(
        "CronJob ops/hello and 1 more: starts pods when it is due, none of which are planned"
    )
    assert "`kubectl create job NAME --from=cronjob/hello -n ops --dry-run=client -o yaml`" in warning


def test_answers_of_kubectl(read):
    pods, warnings = read(ANSWERS)
    assert pods == ["p"]
    assert warnings == [
        'status.json: an answer of the API server, and no object: pods "x" not found',
        "table.json: a Table holds too little of its objects; use what kubectl get -o yaml prints",
    ]


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (WORDPRESS, "kustomization.yaml"),
        (CHART, "values.yaml"),
        (CHART, "Chart.yaml"),
        (CHART, "templates/deployment.yaml"),
        (CHART, "templates/quoted.yaml"),
        (OPERATOR, "dashboards/nodes.json"),
        (OPERATOR, "dashboards/binary.json"),
    ],
)
def test_a_file_that_is_named_must_hold_objects(folder, files, name, without_programs):
    file = folder(files) / name
    with pytest.raises(ManifestError) as caught:
        load_manifests([str(file)])
    assert caught.value.lines[0].startswith(str(file))


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: P}\nspec: {containers: [{name: c}]}\n",
        "apiVersion: v1\nkind: List\nitems: 5\n",
        '{"apiVersion": "v1",\n "kind": "Pod",}',
    ],
)
def test_a_broken_object_in_a_folder_stays_an_error(folder, text):
    with pytest.raises(ManifestError):
        load_manifests([str(folder({"a.yaml": text}))])
