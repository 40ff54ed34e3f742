"""The Helm chart installs what kustomize does, object by object, and its values do what they say."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.deploy.manifests import BESIDE, DEPLOY, WITHIN, Manifest, kustomized, needs_kubectl

helm = pytest.importorskip("helm_python", reason="Helm's renderer is installed by `make chart`")


CHECKSUM = "checksum/configuration"
ALL = (*BESIDE, *WITHIN)


def charted(namespace: str = "poseidon", **values: Any) -> list[Manifest]:
    """The objects that the chart makes of values, which its schema takes."""
    with helm.Chart.load(str(DEPLOY / "helm")) as chart:
        chart.validate_schema(values)
        files = chart.render(values, name="release", namespace=namespace)
    texts = [text for name, text in files.items() if name.endswith(".yaml")]
    return [document for text in texts for document in yaml.safe_load_all(text) if document]


def by_key(objects: list[Manifest]) -> dict[tuple[str, str, str], Manifest]:
    found = {
        (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each
        for each in objects
    }
    assert len(found) == len(objects)
    return found


def one(objects: list[Manifest], kind: str, name: str) -> Manifest:
    (found,) = [each for each in objects if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


def template_of(workload: Manifest) -> Manifest:
    spec: Manifest = workload["spec"]
    template: Manifest = (spec["jobTemplate"]["spec"] if workload["kind"] == "CronJob" else spec)["template"]
    return template


def without_checksum(each: Manifest) -> Manifest:
    """An object as kustomize makes it, which knows no checksums."""
    if each["kind"] in ("Deployment", "DaemonSet", "CronJob"):
        annotations = template_of(each)["metadata"].get("annotations", {})
        annotations.pop(CHECKSUM, None)
        if not annotations:
            template_of(each)["metadata"].pop("annotations", None)
    return each


@needs_kubectl
@pytest.mark.parametrize(
    "components",
    [(), *((each,) for each in (*BESIDE, *WITHIN)), (*BESIDE, *WITHIN)],
    ids=lambda components: "+".join(components) or "base",
)
def test_chart_and_kustomize_make_the_same_objects(tmp_path, components):
    chart = by_key(charted(components=list(components), createNamespace=True))
    expected = by_key(kustomized(tmp_path, components))
    assert chart.keys() == expected.keys()
    for key, each in expected.items():
        assert without_checksum(chart[key]) == each, key


def test_everything_is_in_the_namespace_of_the_release():
    objects = charted("elsewhere", components=[*WITHIN])
    assert not [each for each in objects if each["kind"] == "Namespace"]
    assert "poseidon" not in {each["metadata"].get("namespace") for each in objects}
    subjects = [subject for each in objects for subject in each.get("subjects", ())]
    assert {subject["namespace"] for subject in subjects} == {"elsewhere"}
    assert one(charted("elsewhere", createNamespace=True), "Namespace", "elsewhere")


def test_values_change_images_pods_and_configuration():
    objects = charted(
        images={"firmament": {"repository": "registry.example/firmament", "tag": "9"}},
        pods={"firmament": {"nodeSelector": {"pool": "infrastructure"}}},
        containers={"poseidon": {"resources": {"limits": {"memory": "8Gi"}}}},
        configuration={"schedulerNames": ["mine"]},
    )
    solver = one(objects, "Deployment", "firmament")["spec"]["template"]["spec"]
    bridge = one(objects, "Deployment", "poseidon")["spec"]["template"]["spec"]
    assert solver["containers"][0]["image"] == "registry.example/firmament:9"
    assert solver["nodeSelector"] == {"pool": "infrastructure"}
    assert bridge["containers"][0]["image"].startswith("poseidon-firmament/poseidon:")
    assert bridge["containers"][0]["resources"]["limits"] == {"memory": "8Gi"}
    assert bridge["containers"][0]["resources"]["requests"]["cpu"]  # what is not given stays
    text = one(objects, "ConfigMap", "scheduler-configuration")["data"]["scheduler.yaml"]
    document = yaml.safe_load(text)
    assert document["schedulerNames"] == ["mine"]
    assert document["policy"]["name"] == "cpu_mem"


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet", "CronJob"])
def test_values_reach_every_workload_of_every_kind(kind):
    found = [each for each in charted(components=[*ALL]) if each["kind"] == kind]
    assert found
    for each in found:
        name = each["metadata"]["name"]
        before = template_of(each)["spec"]["containers"][0]
        image, _, tag = before["image"].partition(":")
        objects = charted(
            components=[*ALL],
            images={image.removeprefix("poseidon-firmament/"): {"repository": "registry.example/x"}},
            pods={name: {"nodeSelector": {"pool": "p"}}},
            containers={name: {"resources": {"limits": {"cpu": "3"}}}},
            extraArgs={name: ["--more=1"]},
        )
        pod = template_of(one(objects, kind, name))["spec"]
        assert pod["containers"][0]["image"] == f"registry.example/x:{tag}"
        assert pod["nodeSelector"]["pool"] == "p"
        assert pod["containers"][0]["resources"]["limits"]["cpu"] == "3"
        assert pod["containers"][0]["args"] == [*before["args"], "--more=1"]


def test_both_programs_log_as_they_are_told():
    objects = charted(components=["ui"], logLevel="debug", logFormat="json")
    for name in ("poseidon", "firmament"):
        arguments = template_of(one(objects, "Deployment", name))["spec"]["containers"][0]["args"]
        assert arguments[-2:] == ["--log-level=debug", "--log-format=json"]
    dashboard = template_of(one(objects, "Deployment", "dashboard"))["spec"]["containers"][0]["args"]
    assert not any(each.startswith("--log") for each in dashboard)


def test_another_configuration_replaces_the_pods_that_read_it():
    def checksums(**values: Any) -> dict[str, str]:
        return {
            each["metadata"]["name"]: template_of(each)["metadata"].get("annotations", {}).get(CHECKSUM, "")
            for each in charted(components=[*ALL], **values)
            if each["kind"] in ("Deployment", "DaemonSet", "CronJob")
        }

    before, same = checksums(), checksums(logLevel="debug")
    after = checksums(configuration={"round": {"seed": 3}})
    assert before == same
    readers = {name for name, each in before.items() if each}
    assert {"poseidon", "firmament", "dashboard", "rescheduler"} <= readers
    assert "bandwidth-agent" not in readers
    assert {name for name in before if before[name] != after[name]} == readers


def test_every_pod_is_placed_with_the_users_own_configuration():
    objects = charted(
        components=["default-scheduler", "rescheduling"],
        configuration={"costModels": [{"name": "load_threshold"}]},
    )
    document = yaml.safe_load(one(objects, "ConfigMap", "scheduler-configuration")["data"]["scheduler.yaml"])
    assert document["costModels"] == [{"name": "load_threshold"}]
    for kind, name in (("Deployment", "poseidon"), ("CronJob", "rescheduler")):
        assert "--scheduler-name=*" in template_of(one(objects, kind, name))["spec"]["containers"][0]["args"]


@pytest.mark.parametrize(
    "values",
    [
        {"components": ["everything"]},
        {"image": {}},
        {"images": {"other": {}}},
        {"pods": {"other": {}}},
        {"extraArgs": {"poseidon": "--dry-run"}},
        {"logLevel": "loud"},
        {"configuration": {"round": {"seeds": 1}}},
        {"configuration": {"costModels": [{"weight": 1}]}},
    ],
)
def test_values_that_mean_nothing_are_refused(values):
    with pytest.raises(helm.HelmError):
        charted(**values)
