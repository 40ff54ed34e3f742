"""The Helm chart installs what kustomize does, object by object, and its values do what they say."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tests.deploy.manifests import BESIDE, DEPLOY, WITHIN, Manifest, kustomized, needs_kubectl

helm = pytest.importorskip("helm_python", reason="Helm's renderer is installed by `make chart`")


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
        assert chart[key] == each, key


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


@pytest.mark.parametrize("values", [{"components": ["everything"]}, {"image": {}}, {"pods": {"other": {}}}])
def test_values_that_mean_nothing_are_refused(values):
    with pytest.raises(helm.HelmError):
        charted(**values)
