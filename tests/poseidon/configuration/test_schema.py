"""The JSON Schema of the configuration says what its models say, and ``poseidon config`` shows and checks files."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from jsonschema import Draft7Validator

from poseidon.cli import main
from poseidon.embedding import configuration_schema, load_configuration
from protos.configuration.file import ConfigurationError
from protos.configuration.sections import defaults
from tests.documentation.markdown import ROOT

VALIDATOR = Draft7Validator(configuration_schema())
HEADER = {"apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration"}
PROMETHEUS = {"url": "http://p:9090", "queries": [{"query": "up", "resource": "cpu"}]}

TAKEN: list[dict[str, Any]] = [
    {},
    {"schedulerNames": "*"},
    {"schedulerNames": ["a", "b"]},
    {"policy": {"name": "cpu_mem", "weight": 3}},
    {"costModels": [{"name": "load_threshold", "args": {"anything": 1}}]},
    {"round": {"batchingWindow": "20ms", "solveTimeLimit": None}},
    {"round": {"solveTimeLimit": "1m30s", "seed": 7}},
    {"watch": {"reconcilePeriod": 0}},
    {"utilisation": {"nodeMetric": False, "metricsServer": {"mode": "auto", "interval": 15}}},
    {"utilisation": {"prometheus": PROMETHEUS}},
    {"fairShare": {"enabled": True, "weights": {"team": 2.5}}},
    {"podTopologySpread": {"defaultingType": "List"}},
]
REFUSED: list[dict[str, Any]] = [
    {"kind": "Pod"},
    {"schedulerName": "a"},
    {"schedulerNames": []},
    {"policy": {"name": "cpu_mem", "weight": 0}},
    {"policy": {"weight": 1}},
    {"costModels": {"name": "x"}},
    {"round": {"batchingWindow": "20 ms"}},
    {"round": {"batchingWindow": -1}},
    {"round": {"seeds": 1}},
    {"round": {"maxPasses": 1.5}},
    {"leaderElection": {"leaderElect": "yes"}},
    {"leaderElection": {"resourceName": "Not A Name"}},
    {"utilisation": {"prometheus": {"url": "http://p"}}},
    {"limits": {"streams": 0}},
    {"podTopologySpread": {"defaultingType": "Other"}},
]


def takes(tmp_path, document) -> bool:
    path = tmp_path / "scheduler.yaml"
    path.write_text(yaml.safe_dump(document))
    try:
        load_configuration(path)
    except ConfigurationError as error:
        return all(
            "is not a known" not in line and "args" in line for line in error.lines
        )  # of models: not in schemas
    return True


def test_it_is_a_schema_of_every_section():
    schema = configuration_schema()
    Draft7Validator.check_schema(schema)
    assert list(schema["properties"]) == list(defaults())
    for name, default in defaults().items():
        assert "$ref" in schema["properties"][name] or len(schema["properties"][name]) > 1 or name in HEADER
        if name not in HEADER:
            assert schema["properties"][name]["default"] == default


@pytest.mark.parametrize("document", TAKEN, ids=str)
def test_it_takes_what_the_programs_take(tmp_path, document):
    whole = HEADER | document
    assert takes(tmp_path, whole)
    assert [each.message for each in VALIDATOR.iter_errors(whole)] == []


@pytest.mark.parametrize("document", REFUSED, ids=str)
def test_it_refuses_what_the_programs_refuse(tmp_path, document):
    whole = HEADER | document
    assert not takes(tmp_path, whole)
    assert not VALIDATOR.is_valid(whole)


def test_it_takes_all_configurations_that_are_shown():
    shown = yaml.safe_load(CliRunner().invoke(main, ["config", "show"]).stdout)
    found = [shown]
    for path in (*ROOT.glob("examples/**/*.yaml"), *ROOT.glob("deploy/*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            if isinstance(document, dict) and document.get("kind") == "SchedulerConfiguration":
                found.append(document)
            if isinstance(document, dict) and document.get("kind") == "ConfigMap":
                text = document.get("data", {}).get("scheduler.yaml")
                found += [yaml.safe_load(text)] if text else []
    assert len(found) > 2
    for document in found:
        assert [each.message for each in VALIDATOR.iter_errors(document)] == []


def test_commands(tmp_path):
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(yaml.safe_dump(HEADER | {"schedulerNames": "*"}))
    bad.write_text(yaml.safe_dump(HEADER | {"round": {"seeds": 1}, "policy": {"name": "cpumem"}}))
    runner = CliRunner()
    outcome = runner.invoke(main, ["config", "validate", str(good)])
    assert (outcome.exit_code, outcome.stdout) == (0, f"{good}: ok\n")
    outcome = runner.invoke(main, ["config", "validate", str(good), str(bad)])
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    lines = outcome.stderr.splitlines()
    assert [line.partition(": ")[2].partition(":")[0] for line in lines] == ["round.seeds", "policy.name"]
    assert json.loads(runner.invoke(main, ["config", "schema"]).stdout) == configuration_schema()
    assert yaml.safe_load(runner.invoke(main, ["config", "show", str(good)]).stdout)["schedulerNames"] == [
        "*"
    ]
    assert runner.invoke(main, ["config", "show", str(bad)]).exit_code == 2
