"""Reading the manifests in ``deploy/``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"

Manifest = dict[str, Any]


def load(name: str) -> list[Manifest]:
    """All objects of one file."""
    return [document for document in yaml.safe_load_all((DEPLOY / name).read_text()) if document]


def everything() -> list[Manifest]:
    """All objects that ``kubectl apply -k deploy`` creates."""
    (kustomization,) = load("kustomization.yaml")
    return [manifest for name in kustomization["resources"] for manifest in load(name)]


def of_kind(kind: str) -> dict[str, Manifest]:
    """The objects of one kind by name."""
    return {item["metadata"]["name"]: item for item in everything() if item["kind"] == kind}


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
