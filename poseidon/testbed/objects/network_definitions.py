"""The definitions of AppGroup and NetworkTopology, without their schemas, as diktyo-io serves them: no subresources."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def _definition(group: str, plural: str, kind: str, short: str) -> Object:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "plural": plural,
                "singular": kind.lower(),
                "kind": kind,
                "listKind": f"{kind}List",
                "shortNames": [short],
            },
            "versions": [{"name": "v1alpha1", "served": True, "storage": True}],
        },
    }


def definitions() -> list[Object]:
    """Return both, fresh each time."""
    return [
        _definition("appgroup.diktyo.x-k8s.io", "appgroups", "AppGroup", "ag"),
        _definition("networktopology.diktyo.x-k8s.io", "networktopologies", "NetworkTopology", "nt"),
    ]
