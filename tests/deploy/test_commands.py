"""The deployments start programs with options that exist and a configuration that is accepted."""

from __future__ import annotations

import importlib
import tomllib
from typing import TYPE_CHECKING

import click
import pytest
import yaml
from click.testing import CliRunner

from poseidon.embedding import load_configuration
from tests.deploy.manifests import DEPLOY, arguments_of, of_kind

if TYPE_CHECKING:
    from pathlib import Path


def program(name: str) -> click.Group:
    """The command group that the package installs as ``name``."""
    project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
    module, _, attribute = project["scripts"][name].partition(":")
    group = getattr(importlib.import_module(module), attribute)
    assert isinstance(group, click.Group)
    return group


@pytest.mark.parametrize("name", ["firmament", "poseidon"])
def test_subcommand_and_options_exist(name):
    subcommand, options = arguments_of(of_kind("Deployment")[name])
    group = program(name)
    command = group.get_command(click.Context(group), subcommand)
    assert command is not None
    known = {option for parameter in command.params for option in parameter.opts}
    assert set(options) <= known


def test_configuration_is_accepted(tmp_path: Path):
    ((file, text),) = of_kind("ConfigMap")["scheduler-configuration"]["data"].items()
    path = tmp_path / file
    path.write_text(text)
    assert load_configuration(path).effective_yaml() == load_configuration(None).effective_yaml()


def test_names_of_the_command_line_replace_those_of_the_configuration_alone(tmp_path):
    path = tmp_path / "scheduler.yaml"
    path.write_text(
        "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"
        "schedulerNames: [mine]\ncostModels: [{name: load_threshold}]\n"
    )
    shown = CliRunner().invoke(
        program("poseidon"), ["run", "--config", str(path), "--print-config", "--scheduler-name=*"]
    )
    document = yaml.safe_load(shown.stdout)
    assert document["schedulerNames"] == ["*"]
    assert [each["name"] for each in document["costModels"]] == ["load_threshold"]
