"""Records are read as they come; what cannot be read is ignored and told."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cost_models.api.parsed_records import BadRecordError
from cost_models.interface import ShapeBatch, ShapeRow
from cost_models.network_aware.network_overhead import NetworkOverhead
from cost_models.network_aware.records import parse_app_group, parse_topology
from tests.cost_models.network_aware.scenes import app_group, columns, kind, topology

BATCH = ShapeBatch(np.ones((1, 1), dtype=np.int64), np.ones(1, dtype=np.int64), [ShapeRow()])


@pytest.mark.parametrize(
    ("payload", "fault"),
    [
        (b"{", "not valid JSON"),
        (b"[]", "is not a JSON object"),
        (b'{"workloads": {}}', "workloads: {} is not a list"),
        (b'{"workloads": [{"order": 1}]}', "neither name nor selector"),
        (
            b'{"workloads": [{"name": "a", "dependencies": [{"workload": "b", "maxNetworkCost": -1}]}]}',
            "maxNetworkCost",
        ),
        (b'{"workloads": [{"name": 3}]}', "name: 3 is not a text"),
    ],
)
def test_bad_app_groups(payload: bytes, fault: str) -> None:
    with pytest.raises(BadRecordError, match=fault):
        parse_app_group(payload)


def test_bad_topology() -> None:
    with pytest.raises(BadRecordError, match="z2: 'x' is not a whole number"):
        parse_topology(b'{"weights": {"UserDefined": {"zone": {"z1": {"z2": "x"}}}}}')


def test_a_dependency_by_name_means_that_workloads_selector() -> None:
    payload = {"workloads": [{"name": "front", "selector": "f", "dependencies": [{"workload": "back"}]}]}
    payload["workloads"].append({"name": "back", "selector": "b"})
    record = parse_app_group(json.dumps(payload).encode())
    assert [(each.workload, each.dependency) for each in record.dependencies] == [("f", "b")]
    assert record.order == {"f": 1, "b": 2}


def test_what_is_wrong_is_told() -> None:
    model = NetworkOverhead(namespaces=["apps"], networkTopologyName="nt")
    machines = columns([("r", "z")], {"AppGroup": {"apps/x": b"{", "apps/y": app_group(["a"], [])}})
    assert model.assess(machines, BATCH).notes == (
        "network_overhead: AppGroup apps/x: the payload is not valid JSON; it is ignored",
        "network_overhead: NetworkTopology nt: not found in namespace apps; all machines are alike",
    )


def test_a_changed_record_is_read_again() -> None:
    model = NetworkOverhead()
    kinds = [kind("a"), kind("b")]
    net = topology({}, {})
    where = [("r", "z")]
    before = {
        "NetworkTopology": {"default/nt-default": net},
        "AppGroup": {"default/app": app_group(["a", "b"], [])},
    }
    assert model.pair_terms(columns(where, before), kinds) is None
    after = {**before, "AppGroup": {"default/app": app_group(["a", "b"], [("a", "b", 3, 0)])}}
    terms = model.pair_terms(columns(where, after), kinds)
    assert terms is not None
    assert (terms.source.tolist(), terms.target.tolist(), terms.limit.tolist()) == ([0], [1], [3.0])
    assert model.pair_terms(columns(where, before), kinds) is None


def test_the_first_namespace_that_has_an_object_counts() -> None:
    model = NetworkOverhead(namespaces=["one", "two"])
    groups = {
        "two/app": app_group(["a", "b"], [("a", "b", 7, 0)]),
        "one/app": app_group(["a", "b"], [("b", "a", 9, 0)]),
    }
    records = {"NetworkTopology": {"two/nt-default": topology({}, {})}, "AppGroup": groups}
    terms = model.pair_terms(columns([("r", "z")], records), [kind("a"), kind("b")])
    assert terms is not None
    assert terms.limit.tolist() == [9.0]
