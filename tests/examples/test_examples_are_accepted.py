"""Every object of the examples is one that an API server takes: by the rules written down, and by the simulated one."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from poseidon.testbed.api_server.operations import Operations
from poseidon.testbed.objects.resources import BUILTIN, NAMESPACES, ResourceRegistry
from poseidon.testbed.objects.store import Store
from tests.examples.api_rules import RULES, faults

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(file for file in (ROOT / "examples").rglob("*.yaml") if "expected" not in file.parts)
DOCUMENTS = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md"), ROOT / "README.md"])
FIRST = ("Namespace", "PriorityClass", "RuntimeClass", "Workload")

Object = dict[str, Any]


def objects(text: str) -> list[Object]:
    """Kubernetes objects of a text, those first that others need."""
    documents = [each for each in yaml.safe_load_all(text) if isinstance(each, dict)]
    listed = [
        item for each in documents for item in (each["items"] if each.get("kind") == "List" else [each])
    ]
    found = [
        each
        for each in listed
        if each.get("kind") not in (None, "SchedulerConfiguration", "Simulation", "Sweep")
    ]
    return sorted(found, key=lambda each: each["kind"] not in FIRST)


@cache
def objects_in(file: Path) -> list[Object]:
    """Those of a file; not to be changed."""
    return objects(file.read_text())


def around(file: Path) -> list[Object]:
    """What is in a folder beside a file, and may have been created before."""
    others = [each for other in sorted(file.parent.glob("*.yaml")) for each in objects_in(other)]
    return [each for each in others if each["kind"] in FIRST]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT / "examples").as_posix())
def test_an_api_server_takes_the_example(file: Path) -> None:
    found = objects_in(file)
    context = [*around(file), *found]
    refused = {
        f"{each['kind']} {each['metadata'].get('name')}": lines
        for each in found
        if (lines := faults(each, context))
    }
    assert refused == {}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT / "examples").as_posix())
def test_the_simulated_server_takes_the_example(file: Path) -> None:
    operations = Operations(Store(clock=lambda: 1_767_268_800.0, history_limit=1000, seed=1))
    served = ResourceRegistry(BUILTIN)
    for each in (*around(file), *objects_in(file)):
        resource = served.of_kind(each["apiVersion"], each["kind"])
        if resource is None:
            continue
        namespace = each["metadata"].get("namespace", "default") if resource.namespaced else ""
        if namespace and operations.store.collection("namespaces").get(namespace) is None:
            operations.create(NAMESPACES, "", {"metadata": {"name": namespace}})
        name, collection = each["metadata"]["name"], operations.store.collection(resource.collection)
        if collection.get(f"{namespace}/{name}" if namespace else name) is None:
            operations.create(resource, namespace, copy.deepcopy(each))


def shown() -> Iterator[tuple[str, Object]]:
    """Whole objects that documents show."""
    for page in DOCUMENTS:
        for block in re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
            for each in objects(block):
                if (each.get("apiVersion"), each.get("kind")) in RULES and each["kind"] != "Namespace":
                    yield f"{page.relative_to(ROOT)}: {each['kind']}", each


SHOWN = list(shown())


@pytest.mark.parametrize(
    ("where", "found"), SHOWN, ids=[f"{where} {index}" for index, (where, _) in enumerate(SHOWN)]
)
def test_an_api_server_takes_what_documents_show(where: str, found: Object) -> None:
    assert faults(found) == [], where


# --- the rules themselves: each refuses what breaks it ----------------------------------------------------------------

CONTAINER = {"name": "c", "image": "registry.example/app:1"}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [CONTAINER]}}
CLAIM_SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [CONTAINER]}}
SET = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "s"},
    "spec": {
        "selector": {"matchLabels": {"app": "a"}},
        "template": TEMPLATE,
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": CLAIM_SPEC}],
    },
}


def drop(*path: Any) -> Callable[[Object], None]:
    def change(value: Any) -> None:
        for key in path[:-1]:
            value = value[key]
        del value[path[-1]]

    return change


def put(*path: Any, to: Any) -> Callable[[Object], None]:
    def change(value: Any) -> None:
        for key in path[:-1]:
            value = value[key]
        value[path[-1]] = to

    return change


@pytest.mark.parametrize(
    ("start", "change", "field"),
    [
        (POD, drop("spec", "containers", 0, "image"), "spec.containers[0].image"),
        (POD, put("spec", "workloadRef", to={"name": "w"}), "spec.workloadRef: unknown field"),
        (POD, put("spec", "priority", to=5), "spec.priority"),
        (POD, put("spec", "overhead", to={"cpu": 1}), "spec.overhead"),
        (
            POD,
            put("spec", "containers", 0, "resources", to={"requests": {"example.com/gpu": 1}}),
            "spec.containers[0].resources.limits[example.com/gpu]",
        ),
        (
            POD,
            put(
                "spec",
                "containers",
                0,
                "resources",
                to={"requests": {"example.com/gpu": 1}, "limits": {"example.com/gpu": 2}},
            ),
            "spec.containers[0].resources.requests[example.com/gpu]",
        ),
        (
            POD,
            put("spec", "volumes", to=[{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]),
            "spec.volumes[v].ephemeral",
        ),
        (SET, drop("spec", "selector"), "spec.selector"),
        (SET, drop("spec", "template", "metadata"), "spec.template.metadata.labels"),
        (
            SET,
            drop("spec", "volumeClaimTemplates", 0, "spec", "resources"),
            "spec.volumeClaimTemplates.resources.requests.storage",
        ),
        (SET, put("apiVersion", to="apps/v1beta1"), "apps/v1beta1 StatefulSet: is not served"),
    ],
)
def test_the_rules_refuse_what_breaks_them(
    start: Object, change: Callable[[Object], None], field: str
) -> None:
    changed = copy.deepcopy(start)
    assert faults(changed) == []
    change(changed)
    assert faults(changed)[0].startswith(field)
