"""The manifests of network-aware scheduling: definitions, rights, and programs on nodes."""

from __future__ import annotations

import click
import pytest
import yaml

from poseidon.kube.api.collections import APP_GROUPS, CONFIG_MAPS, NETWORK_TOPOLOGIES
from poseidon.testbed.objects.custom_resources import validate
from tests.deploy.manifests import DEPLOY, container_of, pod_of, rights_of
from tests.deploy.test_commands import program
from tests.poseidon.app_network.definitions import definitions

FOLDER = DEPLOY / "network"


def everything():
    files = sorted(FOLDER.glob("*.yaml"))
    return [
        item
        for file in files
        if file.name != "kustomization.yaml"
        for item in yaml.safe_load_all(file.read_text())
        if item
    ]


WORKLOADS = {
    item["metadata"]["name"]: item for item in everything() if item["kind"] in ("DaemonSet", "Deployment")
}


def test_every_manifest_is_part_of_the_kustomization():
    kustomization = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    assert set(kustomization["resources"]) == {file.name for file in FOLDER.glob("*.yaml")} - {
        "kustomization.yaml"
    }


def test_the_definitions_are_those_of_the_simulated_cluster():
    given = {
        item["metadata"]["name"]: item for item in everything() if item["kind"] == "CustomResourceDefinition"
    }
    assert len(given) == 2
    for expected in definitions():
        found = given[expected["metadata"]["name"]]
        validate(found)
        for key in ("group", "scope", "names"):
            assert found["spec"][key] == expected["spec"][key]
        (version,) = found["spec"]["versions"]
        assert {key: version[key] for key in ("name", "served", "storage")} == expected["spec"]["versions"][0]
        assert "subresources" not in version


def test_the_controllers_may_do_what_they_do_and_nothing_else():
    followed = {
        ("" if root == "api" else rest[0], rest[-1])
        for collection in (APP_GROUPS, NETWORK_TOPOLOGIES, CONFIG_MAPS)
        for root, *rest in [collection.path.strip("/").split("/")]
    }
    own = {collection for collection in followed if collection[0]}
    assert rights_of("poseidon-network", "network") == {
        *((*collection, verb) for collection in followed for verb in ("list", "watch")),
        *((*collection, verb) for collection in own for verb in ("get", "patch")),
        *((group, f"{plural}/status", "patch") for group, plural in own),
    }


def test_rights_of_the_programs():
    roles = {
        item["metadata"]["name"]: item["rules"] for item in everything() if item["kind"].endswith("Role")
    }
    del roles["poseidon-network"]  # the bridge's, above
    assert {
        name: sorted((each["resources"][0], *sorted(each["verbs"])) for each in rules)
        for name, rules in roles.items()
    } == {
        "poseidon-bandwidth-agent": [("nodes", "get"), ("nodes/status", "patch")],
        "poseidon-netperf-probe": [("nodes", "list")],
        "netperf-probe": [("configmaps", "create", "get", "patch"), ("pods", "list")],
    }
    for item in everything():
        if item["kind"].endswith("RoleBinding"):
            assert item["roleRef"]["name"] == item["metadata"]["name"]


@pytest.mark.parametrize("name", WORKLOADS)
class TestPrograms:
    def test_command_and_options_exist(self, name):
        subcommand, *options = container_of(WORKLOADS[name])["args"]
        group = program("poseidon")
        command = group.get_command(click.Context(group), subcommand)
        assert command is not None
        known = {option for parameter in command.params for option in parameter.opts}
        assert {option.partition("=")[0] for option in options} <= known

    def test_is_not_privileged(self, name):
        pod, container = pod_of(WORKLOADS[name]), container_of(WORKLOADS[name])
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert ("hostNetwork" in pod) == (name == "bandwidth-agent")

    def test_its_account_and_labels_fit(self, name):
        item = WORKLOADS[name]
        accounts = {each["metadata"]["name"] for each in everything() if each["kind"] == "ServiceAccount"}
        assert pod_of(item)["serviceAccountName"] in accounts
        labels = item["spec"]["template"]["metadata"]["labels"]
        assert item["spec"]["selector"]["matchLabels"].items() <= labels.items()

    def test_image_is_the_bridges(self, name):
        bridge = next(yaml.safe_load_all((DEPLOY / "poseidon.yaml").read_text()))
        assert container_of(WORKLOADS[name])["image"] == container_of(bridge)["image"]


def test_the_prober_finds_the_servers():
    server, probe = container_of(WORKLOADS["netperf-server"]), container_of(WORKLOADS["netperf-probe"])
    group = program("poseidon")
    command = group.get_command(click.Context(group), "netperf-probe")
    assert command is not None
    (given,) = (parameter for parameter in command.params if parameter.name == "labels")
    labels = WORKLOADS["netperf-server"]["spec"]["template"]["metadata"]["labels"]
    assert next(f"{key}={value}" for key, value in labels.items()) in (
        given.get_default(click.Context(command)) or ()
    )
    (port,) = server["ports"]
    assert f"--port={port['containerPort']}" in probe["args"]
    assert f"--serve=0.0.0.0:{port['containerPort']}" in server["args"]
