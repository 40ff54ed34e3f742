"""Reading the manifests in ``deploy/``."""

from __future__ import annotations

import os
import shutil
import subprocess
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from poseidon.cli import main

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Ten times as fast where PyYAML was built with libyaml."""

Manifest = dict[str, Any]

needs_kubectl = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")


def load(name: str) -> list[Manifest]:
    """All objects of one file."""
    return [deepcopy(document) for document in _parsed((DEPLOY / name).read_text())]


@cache
def _parsed(text: str) -> list[Manifest]:
    return [document for document in yaml.load_all(text, LOADER) if document]


WITH_ROLES = (
    "gpu-sharing",
    "network",
    "preemption",
    "queue-admission",
    "queue-statuses",
    "queues",
    "recovery",
    "topology",
)
BESIDE = (*WITH_ROLES, "expected-starts", "opt-in", "rescheduling", "ui")
"""Folders that are applied beside ``deploy`` where they are wanted; most grant the bridge more."""

WITHIN = ("default-scheduler", "ha", "monitoring", "mtls", "tracing")
"""Components, which change what is in ``deploy``."""


def everything(component: str = ".") -> list[Manifest]:
    """All objects that ``kubectl apply -k deploy`` creates, or one for a component."""
    (kustomization,) = load(f"{component}/kustomization.yaml")
    return [manifest for name in kustomization["resources"] for manifest in load(f"{component}/{name}")]


def rendered(deployment: Manifest, component: str) -> Manifest:
    """A deployment with the patches (RFC 6902) of a kustomize component."""
    (kustomization,) = load(f"{component}/kustomization.yaml")
    found: Manifest = yaml.safe_load(yaml.safe_dump(deployment))
    for each in kustomization["patches"]:
        if each["target"] == {"kind": found["kind"], "name": found["metadata"]["name"]}:
            for step in yaml.safe_load(each["patch"]):
                *path, last = step["path"].strip("/").split("/")
                place = found
                for part in path:
                    place = place[part]
                assert (step["op"] == "add") == (last not in place)
                place[last] = step["value"]
    return found


def collection_of(each: Manifest) -> str:
    """The path at which an API server creates an object of its kind."""
    version, kind = each["apiVersion"], each["kind"].lower()
    plural = f"{kind[:-1]}ies" if kind.endswith("cy") else f"{kind}s"
    namespace = each["metadata"].get("namespace")
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"/{'apis' if '/' in version else 'api'}/{version}{within}/{plural}"


def of_kind(kind: str, component: str = ".") -> dict[str, Manifest]:
    """The objects of one kind by name."""
    return {item["metadata"]["name"]: item for item in everything(component) if item["kind"] == kind}


def rights_of(role: str, component: str = ".") -> set[tuple[str, str, str]]:
    """Group, resource and verb of all that a ClusterRole grants."""
    return {
        (group, resource, verb)
        for rule in of_kind("ClusterRole", component)[role]["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def pod_of(deployment: Manifest) -> Manifest:
    """The pod template's spec."""
    spec: Manifest = deployment["spec"]["template"]["spec"]
    return spec


def container_of(deployment: Manifest) -> Manifest:
    """The only container of a deployment's pods."""
    (container,) = pod_of(deployment)["containers"]
    found: Manifest = container
    return found


def arguments_of(deployment: Manifest) -> tuple[str, dict[str, str]]:
    """The subcommand and the options that a deployment starts its program with."""
    subcommand, *options = container_of(deployment)["args"]
    pairs = (option.partition("=") for option in options)
    return subcommand, {name: value for name, _, value in pairs}


def kustomized(folder: Path, components: tuple[str, ...]) -> list[Manifest]:
    """What ``kubectl kustomize`` makes of the base with components."""
    base = os.path.relpath(DEPLOY, folder)
    document = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [base, *(f"{base}/{each}" for each in components if each in BESIDE)],
        "components": [f"{base}/{each}" for each in components if each in WITHIN],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(document))
    command = ["kubectl", "kustomize", str(folder)]
    text = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    return list(yaml.safe_load_all(text))


def make_parent() -> click.Context:
    """Return what all commands of ``poseidon`` inherit: a command keeps the names of ``--help`` that it had first."""
    return main.make_context("poseidon", [], resilient_parsing=True)
