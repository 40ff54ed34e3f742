"""What the interface reads: files, text, dictionaries and objects of clients, alone and together."""

from __future__ import annotations

import copy
import json
from datetime import UTC, date, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from kubernetes import client

from poseidon import plan, read
from poseidon.api import InputError, make_nodes
from poseidon.api.client_objects import as_plain
from tests.poseidon.api.cluster import node, pod

NO_QUANTITY = "'lots' is not a quantity; write a number with an optional unit, such as 2, 500m or 2Gi"
OBJECTS = [node("a"), node("b", cpu="1"), pod("one"), pod("two", cpu="3")]


def placed(*objects, **options) -> dict[str, str]:
    return {each.pod: each.node for each in plan(*objects, **options).bindings}


def forms(tmp_path):
    text = yaml.safe_dump_all(OBJECTS)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "objects.yaml").write_text(text)
    (tmp_path / "objects.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}))
    return {
        "dictionaries": OBJECTS,
        "a list of them": [OBJECTS],
        "a generator": [iter(OBJECTS)],
        "a List": [{"apiVersion": "v1", "kind": "List", "items": OBJECTS}],
        "YAML text": [text],
        "bytes": [text.encode()],
        "JSON text": [json.dumps(each) for each in OBJECTS],
        "a path as text": [str(tmp_path / "folder")],
        "a path": [tmp_path / "objects.json"],
        "a mixture": [OBJECTS[0], [json.dumps(OBJECTS[1])], iter(OBJECTS[2:])],
    }


def test_every_form_of_the_same_objects_gives_the_same_plan(tmp_path):
    plans = {name: placed(*objects) for name, objects in forms(tmp_path).items()}
    first = next(iter(plans.values()))
    assert sorted(first) == ["default/one", "default/two"]
    assert first["default/two"] == "a"
    assert all(each == first for each in plans.values()), plans


def test_nodes_that_nobody_has_yet_are_like_others():
    wants = [pod("one", cpu="3"), pod("two", cpu="3"), pod("three", cpu="8")]
    assert placed(wants, make_nodes(2)).keys() == {"default/one", "default/two"}
    more = make_nodes(1, {"cpu": "8", "example.com/gpu": 1}, first=3)
    assert placed(wants, make_nodes(2), more)["default/three"] == "added-3"
    assert more[0]["status"]["allocatable"] == {
        "cpu": "8",
        "memory": "16Gi",
        "pods": "110",
        "example.com/gpu": "1",
    }


def as_models() -> list[Any]:
    """The same objects as the official client returns them: items of lists do not name their kind."""

    def metadata(name: str) -> client.V1ObjectMeta:
        return client.V1ObjectMeta(
            name=name, uid=name, resource_version="7", creation_timestamp=datetime(2026, 1, 1, tzinfo=UTC)
        )

    nodes = [
        client.V1Node(
            metadata=metadata(each["metadata"]["name"]), status=client.V1NodeStatus(**each["status"])
        )
        for each in OBJECTS[:2]
    ]
    pods = []
    for each in OBJECTS[2:]:
        needs = client.V1ResourceRequirements(requests=each["spec"]["containers"][0]["resources"]["requests"])
        container = client.V1Container(name="main", image="pause", resources=needs)
        spec = client.V1PodSpec(containers=[container])
        pods.append(client.V1Pod(metadata=metadata(each["metadata"]["name"]), spec=spec))
    version = client.V1ListMeta(resource_version="8")
    return [client.V1NodeList(items=nodes, metadata=version), client.V1PodList(items=pods, metadata=version)]


def test_lists_of_the_official_client_are_read():
    assert placed(*as_models()) == placed(*OBJECTS)


def test_single_models_get_version_and_kind_of_their_classes():
    labels = {"app": "web"}
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels),
        spec=client.V1PodSpec(containers=[client.V1Container(name="main", image="pause")]),
    )
    spec = client.V1DeploymentSpec(
        replicas=2, selector=client.V1LabelSelector(match_labels=labels), template=template
    )
    web = client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)
    budget = client.V1PodDisruptionBudget(
        metadata=client.V1ObjectMeta(name="web"), spec=client.V1PodDisruptionBudgetSpec()
    )
    made = read(OBJECTS[0], web, budget).manifests
    assert [each.metadata.name for each in made.pods] == ["web-0", "web-1"]
    assert [each.metadata.name for each in made.budgets] == ["web"]


def test_what_a_cluster_holds_is_not_refused():
    [_, pods] = as_models()
    pods.items[0].spec.containers[0].resources.requests = {"cpu": "lots"}
    made = plan(OBJECTS[0], pods)
    assert any("lots" in line for line in made.warnings)
    with pytest.raises(InputError, match="'lots' is not a quantity"):
        plan(OBJECTS[0], pod("one", cpu="lots"))


def test_objects_that_turn_into_dictionaries_are_read():
    wrapped = [SimpleNamespace(to_dict=lambda each=each: each) for each in OBJECTS]
    assert placed(*wrapped) == placed(*OBJECTS)


def test_what_is_given_is_not_changed():
    given = copy.deepcopy(OBJECTS)
    given[2]["metadata"]["creationTimestamp"] = datetime(2026, 1, 1, tzinfo=UTC)  # as yaml.safe_load has it
    before = copy.deepcopy(given)
    assert len(placed(*given)) == 2
    assert given == before


def endless_map():
    found: dict[str, object] = {}
    found["again"] = found
    return found


def endless_list():
    found: list[object] = []
    found.append(found)
    return found


def test_faults_of_everything_are_told_together():
    with pytest.raises(InputError) as raised:
        plan("no-such-file.yaml", pod("one", cpu="lots"), config={"polcy": {}})
    assert raised.value.lines == (
        "config: polcy: is not a known key; did you mean policy?",
        "no-such-file.yaml: cannot be read: No such file or directory; name a readable file or folder",
        f"input 2: Pod default/one: spec.containers[0].resources.requests.cpu: {NO_QUANTITY}",
    )


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (3, "input 1: int is nothing that can be read"),
        ([OBJECTS[0], [None]], "input 1[2][1]: NoneType is nothing that can be read"),
        ({"kind": "Pod"}, "input 1: apiVersion: missing"),
        ("kind: [\n", "input 1:2:1: not valid YAML"),
        (endless_map(), "input 1: contains itself"),
        ([endless_list()], "input: contains itself"),
        ("\0", "input 1: not valid YAML"),
        ("a" * 5000, "a" * 5000 + ": cannot be read: File name too long"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_place(given, says):
    with pytest.raises(InputError) as raised:
        read(given)
    assert str(raised.value).startswith(says)


def test_a_cluster_is_read_once_and_its_warnings_told_once():
    cluster = read(pod("one"))
    assert "holds no nodes" in cluster.warnings[0]
    assert plan(cluster).warnings == ()
    assert plan(pod("one")).warnings == cluster.warnings
    assert repr(cluster) == "<ReadCluster: 0 nodes, 1 pod>"
    with pytest.raises(TypeError, match=r"pass config, models, now, kustomize and strict to read\(\)"):
        plan(cluster, now=3.0)


def test_times_and_configuration_are_taken_in_any_form(tmp_path):
    moment = datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert read(OBJECTS, now=moment).now == read(OBJECTS, now=moment.replace(tzinfo=None)).now
    given = {"policy": {"name": "trivial"}}
    header = {"apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration"}
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump({**header, **given}))
    texts = {read(OBJECTS, config=each).configuration.effective_yaml() for each in (given, file, str(file))}
    assert len(texts) == 1
    assert "name: trivial" in texts.pop()


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05Z"),  # noqa: DTZ001 (without a zone, as YAML has it)
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2))), "2026-01-02T01:04:05Z"),
    ],
)
def test_days_stay_days_and_times_become_those_of_utc(given, text):
    assert as_plain({"at": [given]}) == {"at": [text]}
