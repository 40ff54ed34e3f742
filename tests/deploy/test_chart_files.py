"""What of the chart is made of other files is current, and says what documents and programs say."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType

import pytest
import yaml
from jsonschema import Draft7Validator

from poseidon.doctor.connection_checks import OLDEST_MINOR
from tests.deploy.manifests import BESIDE, DEPLOY, WITHIN


@pytest.fixture(scope="module")
def chart() -> ModuleType:
    spec = importlib.util.spec_from_file_location("chart", DEPLOY / "chart.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_schema_and_readme_are_current(chart):
    for path, text in chart.files().items():
        assert path.read_text() == text, f"{path.name}: run python deploy/chart.py"


def test_defaults_are_of_the_schema_and_name_every_workload(chart):
    values = yaml.safe_load((DEPLOY / "helm" / "values.yaml").read_text())
    schema = chart.values_schema()
    Draft7Validator.check_schema(schema)
    assert [each.message for each in Draft7Validator(schema).iter_errors(values)] == []
    assert set(values) == set(schema["properties"]) - {"global"}
    for name in ("extraArgs", "pods", "containers"):
        assert sorted(values[name]) == chart.workloads()
    assert chart.components() == sorted((*BESIDE, *WITHIN))


@pytest.mark.parametrize(
    ("configuration", "fits"),
    [
        ({"policy": {"weight": 3}}, True),
        ({"round": {"batchingWindow": "20ms"}}, True),
        ({"schedulerNames": "*"}, True),
        ({"round": {"batchingWindows": "20ms"}}, False),
        ({"schedulerName": "x"}, False),
        ({"costModels": [{"weight": 1}]}, False),
    ],
)
def test_the_configuration_is_checked_in_values(chart, configuration, fits):
    assert Draft7Validator(chart.values_schema()).is_valid({"configuration": configuration}) is fits


def test_the_chart_is_for_the_versions_that_are_documented():
    chart = yaml.safe_load((DEPLOY / "helm" / "Chart.yaml").read_text())
    assert chart["kubeVersion"] == f">=1.{OLDEST_MINOR}.0-0"
    assert re.search(rf"Kubernetes 1\.{OLDEST_MINOR} to", (DEPLOY.parent / "README.md").read_text())


def test_the_component_for_all_pods_leaves_the_configuration_alone():
    (component,) = yaml.safe_load_all((DEPLOY / "default-scheduler" / "kustomization.yaml").read_text())
    assert {each["target"]["kind"] for each in component["patches"]} == {"Deployment", "CronJob"}
    assert all("--scheduler-name=*" in each["patch"] for each in component["patches"])
