"""Writes what of the chart is made of other files: ``values.schema.json`` and ``README.md``. A test holds both current.

python deploy/chart.py
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from poseidon.embedding import configuration_schema

DEPLOY = Path(__file__).resolve().parent
CHART = DEPLOY / "helm"
WORKLOADS = ("Deployment", "DaemonSet", "CronJob")
LEVELS, FORMATS = ("debug", "info", "warning", "error"), ("text", "json")

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


_README = """\
# The chart `poseidon`

{about}

```console
$ helm install poseidon deploy/helm --namespace poseidon --create-namespace --set 'components={{ha,preemption}}'
```

The chart installs the manifests of [the folder above](../README.md), as kustomize puts them together.
`values.schema.json` holds the schema of the [configuration](../../docs/configuration.md) (`poseidon config schema`), so
that `helm install` and `helm lint` refuse what the programs would. Pods that read the configuration bear its checksum:
if `helm upgrade` changes the configuration, Kubernetes replaces these pods.

| value | default | meaning |
|---|---|---|
{rows}

`extraArgs`, `pods` and `containers` name the workload that they are about: {workloads}.

`python deploy/chart.py` writes this file and the schema.
"""


def main() -> None:
    """Write both files."""
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")


def files() -> dict[Path, str]:
    """Return what the files should hold."""
    schema = json.dumps(values_schema(), indent=2) + "\n"
    return {CHART / "values.schema.json": schema, CHART / "README.md": read_me()}


def components() -> list[str]:
    """Return the folders of manifests that the chart has."""
    linked = CHART / "manifests"
    return sorted(each.name for each in linked.iterdir() if each.is_dir())


def workloads() -> list[str]:
    """Return the names of all workloads of all folders."""
    found = {
        document["metadata"]["name"]
        for path in sorted(DEPLOY.glob("*.yaml")) + sorted(DEPLOY.glob("*/*.yaml"))
        if CHART not in path.parents
        for document in yaml.load_all(path.read_text(encoding="utf-8"), _LOADER)
        if document and document.get("kind") in WORKLOADS
    }
    return sorted(found)


def values_schema() -> dict[str, Any]:
    """Return the schema of the values; that of the configuration is the programs' own."""
    configuration = configuration_schema()
    definitions = configuration.pop("definitions")
    # Values are merged into the manifest's configuration, which names a policy.
    policy = {key: each for key, each in definitions["ModelSection"].items() if key != "required"}
    properties = {**configuration["properties"], "policy": policy}
    each = {"type": "object", "propertyNames": {"enum": workloads()}}
    image = {"repository": {"type": "string"}, "tag": {"type": "string"}}
    values = _values()
    return {
        "$schema": configuration["$schema"],
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "global": {"type": "object"},
            "components": {"type": "array", "uniqueItems": True, "items": {"enum": components()}},
            "createNamespace": {"type": "boolean"},
            "images": {
                "type": "object",
                "additionalProperties": False,
                "properties": {name: {"$ref": "#/definitions/image"} for name in values["images"]},
            },
            "configuration": {"type": "object", "additionalProperties": False, "properties": properties},
            "logLevel": {"enum": ["", *LEVELS]},
            "logFormat": {"enum": ["", *FORMATS]},
            "extraArgs": {**each, "additionalProperties": {"type": "array", "items": {"type": "string"}}},
            "pods": {**each, "additionalProperties": {"type": "object"}},
            "containers": {**each, "additionalProperties": {"type": "object"}},
        },
        "definitions": {
            "image": {"type": "object", "additionalProperties": False, "properties": image},
            **definitions,
        },
    }


def read_me() -> str:
    """Return the chart's README, with a table of its values."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    rows = [f"| `{name}` | `{default}` | {text} |" for name, default, text in _rows()]
    named = ", ".join(f"`{each}`" for each in workloads())
    about = f"{chart['description']} Version {chart['version']}, for Kubernetes `{chart['kubeVersion']}`."
    return _README.format(about=about, rows="\n".join(rows), workloads=named)


def _values() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    return found


def _rows() -> list[tuple[str, str, str]]:
    """Return name, default and meaning of each value; the meaning is the comment above it."""
    text = (CHART / "values.yaml").read_text(encoding="utf-8")
    rows: list[tuple[str, str, str]] = []
    values = _values()
    for comment, name in re.findall(r"((?:^#.*\n)+)^(\w+):", text, re.MULTILINE):
        meaning = " ".join(line.lstrip("# ") for line in comment.splitlines())
        value = values[name]
        if isinstance(value, dict) and value:
            unit = {"images": "IMAGE"}.get(name, "WORKLOAD")
            rows.append((f"{name}.{unit}", json.dumps(next(iter(value.values()))), meaning))
        else:
            rows.append((name, json.dumps(value), meaning))
    return rows


if __name__ == "__main__":
    main()
