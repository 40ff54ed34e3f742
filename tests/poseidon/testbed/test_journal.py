"""A simulated cluster whose process is killed goes on where it ended."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from random import Random
from typing import Any

import pytest

from poseidon.testbed.api_server.operations import Operations
from poseidon.testbed.objects.errors import ApiError
from poseidon.testbed.objects.history import ExpiredRevisionError, Journal
from poseidon.testbed.objects.resources import CUSTOM_RESOURCE_DEFINITIONS, NODES, PODS, ResourceType
from poseidon.testbed.objects.store import Store, decode
from tests.poseidon.testbed.test_custom_resources import definition, group
from tests.poseidon.testbed.test_process import running
from tests.support.cluster import pod
from tests.support.time_limits import stretch


def begin(path: Path) -> Operations:
    """Begin with a journal, whatever it holds."""
    journal = Journal(path)
    saved = journal.read()
    return Operations(Store(clock=lambda: 1e9, seed=1, journal=journal), saved=saved)


def everything(operations: Operations) -> dict[tuple[str, str], Any]:
    """All objects by collection and key."""
    found = {}
    for collection in operations.store.collections():
        view = collection.view(operations.store.revision)
        for key in view.keys:
            record = view.get(key)
            assert record is not None
            found[collection.spec.name, key] = decode(record)
    return found


@pytest.mark.parametrize("seed", range(20))
def test_whatever_was_written_is_there(seed: int, tmp_path: Path) -> None:
    random, path = Random(seed), tmp_path / "journal"
    operations = begin(path)
    for number in range(80):
        name = f"p{random.randrange(12)}"
        try:
            match random.randrange(5):
                case 0 | 1:
                    operations.create(PODS, "default", pod(name))
                case 2:
                    operations.delete(PODS, "default", name)
                case 3:
                    labels = {"metadata": {"labels": {"n": str(number)}}}
                    operations.patch(PODS, "default", name, "application/merge-patch+json", labels)
                case _:
                    operations.create(NODES, "", {"metadata": {"name": f"n{number}"}})
        except ApiError:
            continue
        if random.random() < 0.05:
            operations = begin(path)
    operations.create(NODES, "", {"metadata": {"name": "last"}})
    again = begin(path)
    assert everything(again) == everything(operations)
    assert again.store.revision > operations.store.revision
    with pytest.raises(ExpiredRevisionError):
        again.store.collection("pods").view_at(operations.store.revision)
    old = {each["metadata"]["uid"] for each in everything(operations).values()}
    assert decode(again.create(PODS, "default", pod("new")))["metadata"]["uid"] not in old


def test_kinds_that_a_definition_has_brought_are_served_again(tmp_path: Path) -> None:
    operations = begin(tmp_path / "journal")
    operations.create(CUSTOM_RESOURCE_DEFINITIONS, "", definition())
    operations.create(groups(operations), "default", group("g"))
    operations = begin(tmp_path / "journal")
    assert operations.get(groups(operations), "default", "g").name == "g"
    operations.delete(CUSTOM_RESOURCE_DEFINITIONS, "", "podgroups.scheduling.x-k8s.io")
    operations = begin(tmp_path / "journal")
    assert operations.registry.find("scheduling.x-k8s.io", "v1alpha1", "podgroups") is None


def groups(operations: Operations) -> ResourceType:
    found = operations.registry.find("scheduling.x-k8s.io", "v1alpha1", "podgroups")
    assert found is not None
    return found


def test_a_line_that_is_cut_off_was_never_written(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    operations = begin(path)
    operations.create(NODES, "", {"metadata": {"name": "n1"}})
    before = everything(operations)
    operations.create(NODES, "", {"metadata": {"name": "n2"}})
    path.write_bytes(path.read_bytes()[:-7])
    assert everything(begin(path)) == before


def test_a_process_that_was_killed_comes_back_with_everything(tmp_path: Path) -> None:
    journal = str(tmp_path / "journal")
    with running("--nodes", "3", "--journal", journal) as (process, url):
        before = json.load(urllib.request.urlopen(f"{url}/api/v1/nodes", timeout=stretch(10)))
        process.kill()
        process.wait(10)
    with running("--nodes", "3", "--journal", journal) as (_, url):
        after = json.load(urllib.request.urlopen(f"{url}/api/v1/nodes", timeout=stretch(10)))
        assert after["items"] == before["items"]
        since = before["metadata"]["resourceVersion"]
        watch = f"{url}/api/v1/nodes?watch=1&resourceVersion={since}"
        with urllib.request.urlopen(watch, timeout=stretch(10)) as stream:
            assert b'"code":410' in stream.readline()
