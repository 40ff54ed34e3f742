"""The definitions of AppGroup and NetworkTopology, without their schemas, as diktyo-io serves them: no subresources."""

from __future__ import annotations

from typing import Any

from poseidon.testbed.objects.custom_resources import definition


def definitions() -> list[dict[str, Any]]:
    """Return both, fresh each time."""
    return [
        definition("appgroup.diktyo.x-k8s.io", "v1alpha1", "appgroups", "AppGroup", short="ag"),
        definition(
            "networktopology.diktyo.x-k8s.io", "v1alpha1", "networktopologies", "NetworkTopology", short="nt"
        ),
    ]
