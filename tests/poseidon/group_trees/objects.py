"""Short-hand for ConfigMaps of groups and trees, and for their pods."""

from __future__ import annotations

import json

from msgspec.structs import replace

from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.other_projects.app_network import ConfigMap
from tests.poseidon.bridge import objects

RACKS: dict[str, dict[str, dict[str, str]]] = {"rack-0": {"n1": {}, "n2": {}}, "rack-1": {"n3": {}, "n4": {}}}


def config_map(
    name, label, *, uid=None, namespace="default", created="2026-01-01T00:00:00Z", notes=None, **data
):
    """A ConfigMap; values that are no text are written as JSON, ``_`` in keys as ``-``."""
    texts = {
        key.replace("_", "-"): value if isinstance(value, str) else json.dumps(value)
        for key, value in data.items()
    }
    metadata = ObjectMeta(
        name=name,
        namespace=namespace,
        uid=uid or f"map-{name}",
        labels={label: ""},
        annotations=notes or {},
        creation_timestamp=created,
    )
    return ConfigMap(metadata=metadata, data=texts)


def group_map(name="train", size=2, *, own="", **more):
    """The ConfigMap of a group; ``own`` is its own name, where that is another one."""
    made = config_map(own or name, "sakkara.group", **more)
    return replace(made, data={"name": name, "size": str(size), **made.data})


def tree_map(tree=None, *, own="tree", **more):
    return config_map(own, "sakkara.topology", tree=RACKS if tree is None else tree, **more)


def pod(name, group="train", *, labels=None, created=None, **more):
    made = objects.pod(name, **more)
    metadata = replace(
        made.metadata,
        labels={**({"sakkara.group.name": group} if group else {}), **(labels or {})},
        creation_timestamp=created or made.metadata.creation_timestamp,
    )
    return replace(made, metadata=metadata)
