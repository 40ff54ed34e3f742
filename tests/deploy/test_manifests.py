"""The manifests fit together, and run both processes with no more rights than they need."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib

import pytest
import yaml

from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.api import collections, kinds
from poseidon.kube.api.collections import GROUP_MAPS, tree_maps
from poseidon.kube.api.other_projects.app_network import ConfigMap
from poseidon.kube.api.resource import Resource
from poseidon.metrics_sources import koordinator, metrics_server
from tests.deploy.manifests import (
    BESIDE,
    DEPLOY,
    WITH_ROLES,
    WITHIN,
    arguments_of,
    container_of,
    everything,
    load,
    of_kind,
    pod_of,
    rendered,
    rights_of,
)

NAMES = ("firmament", "poseidon")
CLUSTER_WIDE = {"Namespace", "ClusterRole", "ClusterRoleBinding"}


@pytest.fixture(params=NAMES)
def deployment(request):
    return of_kind("Deployment")[request.param]


def test_every_manifest_is_part_of_the_kustomization():
    (kustomization,) = load("kustomization.yaml")
    files = {file.name for file in DEPLOY.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(kustomization["resources"]) == files


def test_objects_are_unique_and_in_the_namespace():
    (namespace,) = of_kind("Namespace")
    keys = [(item["kind"], item["metadata"]["name"]) for item in everything()]
    assert len(keys) == len(set(keys))
    for item in everything():
        expected = None if item["kind"] in CLUSTER_WIDE else namespace
        assert item["metadata"].get("namespace") == expected, item["metadata"]["name"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kustomize_renders_the_same_objects(tmp_path):
    rendered = subprocess.run(
        ["kubectl", "kustomize", str(DEPLOY)],
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout

    def by_name(items):
        return sorted(items, key=lambda item: (item["kind"], item["metadata"]["name"]))

    assert by_name(yaml.safe_load_all(rendered)) == by_name(everything())


class TestDeployments:
    def test_the_next_one_is_there_before_the_last_one_goes(self, deployment):
        assert deployment["spec"]["replicas"] == 1
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
        assert deployment["spec"]["strategy"] == strategy

    def test_for_high_availability_there_are_two_on_different_nodes(self, deployment):
        name = deployment["metadata"]["name"]
        doubled = rendered(deployment, "ha")
        assert doubled["spec"]["replicas"] == 2
        (apart,) = pod_of(doubled)["affinity"]["podAntiAffinity"][
            "preferredDuringSchedulingIgnoredDuringExecution"
        ]
        assert apart["podAffinityTerm"]["labelSelector"] == doubled["spec"]["selector"]
        budget = of_kind("PodDisruptionBudget", "ha")[name]["spec"]
        assert budget == {"maxUnavailable": 1, "selector": doubled["spec"]["selector"]}

    def test_selects_its_own_pods(self, deployment):
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        selected = deployment["spec"]["selector"]["matchLabels"]
        assert selected.items() <= labels.items()
        others = [item for item in of_kind("Deployment").values() if item != deployment]
        assert all(item["spec"]["selector"]["matchLabels"] != selected for item in others)

    def test_does_not_schedule_itself(self, deployment):
        assert pod_of(deployment)["schedulerName"] == "default-scheduler"

    def test_its_account_exists(self, deployment):
        assert pod_of(deployment)["serviceAccountName"] in of_kind("ServiceAccount")

    def test_is_not_privileged(self, deployment):
        pod, container = pod_of(deployment), container_of(deployment)
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)

    def test_volumes_are_mounted_sized_and_there(self, deployment):
        volumes = {volume["name"]: volume for volume in pod_of(deployment)["volumes"]}
        mounts = {mount["name"]: mount for mount in container_of(deployment)["volumeMounts"]}
        assert set(volumes) == set(mounts)
        assert "/tmp" in {mount["mountPath"] for mount in mounts.values()}
        for volume in volumes.values():
            assert "configMap" in volume or "sizeLimit" in volume["emptyDir"]
            if "configMap" in volume:
                assert volume["configMap"]["name"] in of_kind("ConfigMap")
                assert mounts[volume["name"]]["readOnly"] is True

    def test_requests_and_memory_limit(self, deployment):
        resources = container_of(deployment)["resources"]
        assert set(resources["requests"]) == {"cpu", "memory"}
        assert set(resources["limits"]) == {"memory"}  # a cpu limit would throttle rounds

    def test_configuration_is_the_mounted_file(self, deployment):
        _, options = arguments_of(deployment)
        folder, _, file = options["--config"].rpartition("/")
        (volume,) = [volume for volume in pod_of(deployment)["volumes"] if "configMap" in volume]
        mount = next(
            item for item in container_of(deployment)["volumeMounts"] if item["name"] == volume["name"]
        )
        assert mount["mountPath"] == folder
        assert file in of_kind("ConfigMap")[volume["configMap"]["name"]]["data"]

    def test_ports_are_those_listened_on(self, deployment):
        _, options = arguments_of(deployment)
        listened = {
            int(options[name].rpartition(":")[2]) for name in ("--listen", "--metrics") if name in options
        }
        assert {port["containerPort"] for port in container_of(deployment)["ports"]} == listened
        probes = [value for name, value in container_of(deployment).items() if name.endswith("Probe")]
        assert {probe["grpc"]["port"] for probe in probes if "grpc" in probe} <= listened

    def test_image_has_the_packages_version(self, deployment):
        project = tomllib.loads((DEPLOY.parent / "pyproject.toml").read_text())["project"]
        name = deployment["metadata"]["name"]
        assert container_of(deployment)["image"] == f"poseidon-firmament/{name}:{project['version']}"


def test_the_solver_is_probed():
    container = container_of(of_kind("Deployment")["firmament"])
    assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container)


def test_the_bridge_finds_the_solver():
    deployments, service = of_kind("Deployment"), of_kind("Service")["firmament"]
    _, options = arguments_of(deployments["poseidon"])
    (port,) = service["spec"]["ports"]
    assert options["--firmament"] == f"{service['metadata']['name']}:{port['port']}"
    labels = deployments["firmament"]["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    target = next(
        item for item in container_of(deployments["firmament"])["ports"] if item["name"] == port["targetPort"]
    )
    _, served = arguments_of(deployments["firmament"])
    assert served["--listen"] == f"0.0.0.0:{target['containerPort']}"


def test_only_the_bridge_reaches_the_solver():
    policy = of_kind("NetworkPolicy")["firmament"]["spec"]
    deployments = of_kind("Deployment")
    assert policy["podSelector"] == deployments["firmament"]["spec"]["selector"]
    peers = [rule.get("from") for rule in policy["ingress"] if {"port": "grpc"} in rule["ports"]]
    assert peers == [[{"podSelector": deployments["poseidon"]["spec"]["selector"]}]]


def test_of_the_bridge_nothing_is_reached_but_its_metrics():
    policy = of_kind("NetworkPolicy")["poseidon"]["spec"]
    assert policy["podSelector"] == of_kind("Deployment")["poseidon"]["spec"]["selector"]
    assert (policy["policyTypes"], policy["ingress"]) == (["Ingress"], [{"ports": [{"port": "metrics"}]}])


def test_the_solver_has_no_credentials():
    account = of_kind("ServiceAccount")["firmament"]
    assert account["automountServiceAccountToken"] is False
    assert pod_of(of_kind("Deployment")["firmament"])["automountServiceAccountToken"] is False
    subjects = [
        subject for binding in of_kind("ClusterRoleBinding").values() for subject in binding["subjects"]
    ]
    assert {(subject["name"], subject["namespace"]) for subject in subjects} == {("poseidon", "poseidon")}


def followed() -> set[tuple[str, str]]:
    """Group and plural of the collections that the bridge lists and watches."""
    queues = {kind.resource for kind in kinds.QUEUES}
    of_components = {
        collections.APP_GROUPS,
        collections.NETWORK_TOPOLOGIES,
        collections.NODE_DEVICES,
        collections.LIMIT_RANGES,
        *queues,
    }
    values = [value for module in (collections, koordinator) for value in vars(module).values()]
    every = [each for each in (*values, *collections.SCALED_OWNERS.values()) if isinstance(each, Resource)]
    base = [each for each in every if each not in of_components and each.kind is not ConfigMap]
    parts = [each.path.strip("/").split("/") for each in base]
    return {("" if root == "api" else rest[0], rest[-1]) for root, *rest in parts}


def polled() -> set[tuple[str, str]]:
    """Group and plural of the collections that the bridge only lists."""
    parts = [path.strip("/").split("/") for path in (metrics_server.NODES_PATH, metrics_server.PODS_PATH)]
    return {(group, plural) for _, group, _, plural in parts}


def test_the_bridge_may_do_what_it_does_and_nothing_else():
    granted = rights_of("poseidon")
    read = {(*collection, verb) for collection in followed() for verb in ("list", "watch")}
    read |= {(*collection, "list") for collection in polled()}
    assert len(read) >= 6
    assert granted == read | {
        ("", "pods/binding", "create"),
        ("", "pods/status", "patch"),
        ("", "events", "create"),
        ("", "events", "patch"),
        ("", "persistentvolumeclaims", "patch"),
        ("", "persistentvolumes", "patch"),
        ("resource.k8s.io", "resourceclaims", "create"),
        ("resource.k8s.io", "resourceclaims", "get"),
        ("resource.k8s.io", "resourceclaims", "patch"),
        ("resource.k8s.io", "resourceclaims/status", "patch"),
        ("resource.k8s.io", "resourceclaims/binding", "patch"),
        ("scheduling.k8s.io", "podgroups/status", "patch"),
        ("scheduling.k8s.io", "compositepodgroups/status", "patch"),
        ("scheduling.x-k8s.io", "podgroups/status", "patch"),
    }


def test_of_several_bridges_one_works():
    _, options = arguments_of(of_kind("Deployment")["poseidon"])
    assert "--leader-elect" in options
    lease = BridgeConfiguration().leader_election.resource_name
    create, others = of_kind("Role")["poseidon"]["rules"]
    assert create == {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]}
    assert (others["resourceNames"], others["verbs"]) == ([lease], ["get", "list", "watch", "patch"])
    (subject,) = of_kind("RoleBinding")["poseidon"]["subjects"]
    assert subject == {"kind": "ServiceAccount", "name": "poseidon", "namespace": "poseidon"}


def test_creating_pods_is_a_right_of_its_own_that_can_be_left_out():
    assert rights_of("poseidon-recovery", "recovery") == {
        ("", "pods", "get"),
        ("", "pods", "create"),
        ("", "pods/eviction", "create"),
    }


def test_evicting_pods_is_a_right_of_its_own_that_can_be_left_out():
    assert rights_of("poseidon-preemption", "preemption") == {
        ("", "pods/eviction", "create"),
        ("", "pods", "delete"),
    }


def test_topology_groups_have_rights_of_their_own():
    followed = {GROUP_MAPS.path, tree_maps("default").path}
    assert {path.rpartition("/")[2] for path in followed} == {"configmaps"}
    verbs = ("list", "watch", "patch")
    assert rights_of("poseidon-topology", "topology") == {("", "configmaps", verb) for verb in verbs} | {
        ("", "pods", "patch")
    }


def test_the_base_neither_makes_nor_ends_nor_edits_what_users_made():
    """Whoever may create pods may run anything as anybody: such rights come with what is asked for by name."""
    granted = set().union(*(rights_of(role) for role in of_kind("ClusterRole")))
    harmless = {"get", "list", "watch"}
    sensitive = {("", "pods"), ("", "pods/eviction"), ("", "configmaps")}
    assert {each for each in granted if each[:2] in sensitive} == {
        ("", "pods", "list"),
        ("", "pods", "watch"),
    }
    assert {each[1] for each in granted if each[2] not in harmless and each[0] == ""} == {
        "events",
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods/binding",
        "pods/status",
    }
    assert BridgeConfiguration().recovery.recreate_bare_pods is False


@pytest.mark.parametrize("component", [".", *WITH_ROLES])
def test_every_role_is_bound_by_its_name_to_the_bridge(component):
    bindings = of_kind("ClusterRoleBinding", component)
    bound = {name: item["roleRef"]["name"] for name, item in bindings.items()}
    assert bound == {name: name for name in of_kind("ClusterRole", component)}
    assert "poseidon" in {each["name"] for item in bindings.values() for each in item["subjects"]}


def test_every_component_is_documented():
    folders = {file.parent.name for file in DEPLOY.glob("*/kustomization.yaml")}
    assert folders == {*BESIDE, *WITHIN}
    text = (DEPLOY / "README.md").read_text()
    assert all(f"`kubectl apply -k deploy/{name}`" in text for name in BESIDE)


def test_a_bridge_that_hangs_is_started_anew():
    container = container_of(of_kind("Deployment")["poseidon"])
    probe = container["livenessProbe"]["httpGet"]
    (port,) = (each for each in container["ports"] if each["name"] == probe["port"])
    _, options = arguments_of(of_kind("Deployment")["poseidon"])
    assert (probe["path"], options["--metrics"]) == ("/livez", f"0.0.0.0:{port['containerPort']}")
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": probe["port"]}


class TestImages:
    @pytest.fixture(params=NAMES)
    def recipe(self, request):
        return request.param, (DEPLOY / "docker" / f"{request.param}.Dockerfile").read_text()

    def test_runs_the_right_program_as_the_user_of_the_deployment(self, recipe):
        name, text = recipe
        user = pod_of(of_kind("Deployment")[name])["securityContext"]["runAsUser"]
        last_stage = text.rpartition("\nFROM ")[2]
        assert f'ENTRYPOINT ["{name}"]' in last_stage
        assert f"USER {user}:{user}" in last_stage

    def test_installs_locked_versions_only(self, recipe):
        _, text = recipe
        for line in re.findall(r"pip install (.*)", text):
            assert "--require-hashes" in line or {"--no-deps", "--no-build-isolation"} <= set(line.split())

    def test_the_recipe_is_documented(self, recipe):
        name, _ = recipe
        assert f"-f deploy/docker/{name}.Dockerfile" in (DEPLOY / "README.md").read_text()

    def test_what_is_copied_is_sent_to_the_builder(self, recipe):
        _, text = recipe
        sent = {
            line[1:] for line in (DEPLOY.parent / ".dockerignore").read_text().splitlines() if line[:1] == "!"
        }
        assert {"cost_models", "firmament", "poseidon", "protos", "pyproject.toml", "LICENSE"} <= sent
        copied = re.findall(r"^COPY (?!--from)(\S+)", text, re.MULTILINE)
        assert set(copied) - {"."} <= sent
