"""Records: which can be read, when they came, and what changes with them."""

from __future__ import annotations

import json

import pytest

from cost_models.interface import Needs
from firmament.core.record_kinds import FLAVOR_RECORD, NAMESPACE_RECORD, QUOTA_RECORD
from firmament.core.state.cluster import Cluster
from firmament.core.state.records import DEEPEST, RecordTable, payload_fault
from tests.support.core import machine


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize(
    ("payload", "fault"),
    [
        (b"{}", ""),
        (b"1.5", ""),
        (b'"x' + b"y" * 97 + b'"', ""),
        (b'"x' + b"y" * 98 + b'"', "has 101 bytes, more than limits.recordBytes (100)"),
        (
            b"{",
            "is not valid JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1))",
        ),
        (b"NaN", "is not valid JSON (NaN is not a number that can be reckoned with)"),
        (b"[-Infinity]", "is not valid JSON (-Infinity is not a number that can be reckoned with)"),
        (b"1e999", "is not valid JSON (1e999 is not a number that can be reckoned with)"),
        (b'"\\ud800"', "holds half of a surrogate pair"),
        (b'"\\u00e4"', ""),
        (
            b"\xff",
            "is not valid JSON ('utf-8' codec can't decode byte 0xff in position 0: invalid start byte)",
        ),
    ],
)
def test_payloads_that_can_be_read(payload: bytes, fault: str):
    assert payload_fault(payload, 100) == fault


def test_how_deep_payloads_may_be_nested():
    assert payload_fault(nested(DEEPEST), 10**6) == ""
    assert payload_fault(nested(DEEPEST + 2), 10**6) == f"is nested deeper than {DEEPEST} levels"
    assert payload_fault(nested(10**5), 10**6) == f"is nested deeper than {DEEPEST} levels"
    assert payload_fault(b"[" + b",".join([b"{}"] * 200) + b"]", 10**6) == ""
    deep = json.dumps({"a": json.loads(nested(DEEPEST + 1))}).encode()
    assert payload_fault(deep, 10**6) == f"is nested deeper than {DEEPEST} levels"


def test_records_by_kind_and_name():
    records = RecordTable(10, frozenset({"read"}))
    records.keep("read", "a", b"{}", 7)
    records.keep("other", "a", b"{", 8)
    assert len(records) == 2
    assert sorted(records) == [("other", "a"), ("read", "a")]
    assert ("read", "a") in records
    assert ("read", "b") not in records
    assert ("nothing", "a") not in records
    assert records.payloads == {"read": {"a": b"{}"}, "other": {"a": b"{"}}
    assert records.arrival_numbers == {"read": {"a": 7}, "other": {"a": 8}}
    records.keep("read", "a", b"{", 9)
    records.keep("other", "b", b"x" * 11, 10)
    assert records.payloads["read"]["a"] == b""
    assert records.payloads["other"]["b"] == b""
    assert records.faults.keys() == {("read", "a")}
    [note] = records.notes()
    assert note.startswith("record read 'a': the payload is not valid JSON")
    assert note.endswith("; it counts as one that says nothing")
    records.keep("read", "a", b"[]", 11)
    assert not records.faults
    assert (records.changes["read"], records.removals["read"]) == (3, 0)
    records.drop("read", "a")
    records.drop("read", "a")
    records.drop("nothing", "a")
    assert (records.changes["read"], records.removals["read"]) == (4, 1)
    assert records.arrival_numbers["read"] == {}
    assert len(records) == 2
    assert records.changes["nothing"] == 0


def test_a_fault_goes_with_its_record():
    records = RecordTable(10, frozenset({"read"}))
    records.keep("read", "a", b"{", 1)
    records.drop("read", "a")
    assert not records.faults


def test_a_reader_is_called_again_only_after_changes():
    records, calls = RecordTable(10, frozenset()), []

    def read(before: int | None) -> int:
        calls.append(before)
        return len(calls)

    assert [records.read(("a", "b"), read) for _ in range(2)] == [1, 1]
    records.keep("c", "x", b"", 1)
    assert records.read(("a", "b"), read) == 1
    records.keep("b", "x", b"", 2)
    assert records.read(("a", "b"), read) == 2
    assert records.read(("a",), read) == 3
    assert records.read(("a", "b"), read) == 2
    assert calls == [None, 1, None]  # it gets its last result of these kinds


# --- of a cluster ----------------------------------------------------------------------------------------------------


def cluster_of(**needs: tuple[str, ...]) -> Cluster:
    made = Cluster(Needs(**needs))  # type: ignore[arg-type]  # fields by name
    for name in ("m", "n"):
        made.upsert_machine(machine(name).machine)
    made.dirty.clear()
    return made


def opens(cluster: Cluster, kind: str) -> bool:
    """Whether a record of a kind opens machines everywhere."""
    cluster.keep_record(kind, "x", b"{}")
    found = cluster.dirty.everywhere
    cluster.dirty.clear()
    return found


def test_which_records_open_which_machines():
    cluster = cluster_of(records=("Limits",), arrivals=("Zones",))
    cluster.keep_record("Zones", "n", b"{}")
    assert cluster.dirty.machines == {cluster.machines.row_of["n"]}
    assert not cluster.dirty.everywhere
    cluster.dirty.clear()
    cluster.keep_record("Zones", "unknown", b"{}")
    cluster.keep_record("Other", "n", b"{}")
    assert not cluster.dirty.machines
    assert not cluster.dirty.everywhere
    assert [opens(cluster, kind) for kind in ("Limits", QUOTA_RECORD, FLAVOR_RECORD)] == [True] * 3
    cluster.keep_record(NAMESPACE_RECORD, "x", b"{}")
    assert cluster.dirty.domains_changed
    cluster.dirty.clear()
    cluster.drop_record("Zones", "n")
    cluster.drop_record("Limits", "x")
    assert cluster.dirty.machines == {cluster.machines.row_of["n"]}
    assert cluster.dirty.everywhere


def test_records_are_numbered_in_the_order_in_which_they_come():
    cluster = cluster_of()
    assert cluster.last_arrival_number == 0
    cluster.keep_record("A", "x", b"{}")
    cluster.keep_record("B", "x", b"{}")
    assert (cluster.last_arrival_number, cluster.records.arrival_numbers) == (
        2,
        {"A": {"x": 1}, "B": {"x": 2}},
    )


def test_only_records_that_somebody_reads_have_faults():
    cluster = cluster_of(records=("Limits",))
    for kind in ("Limits", "Other", QUOTA_RECORD):
        cluster.keep_record(kind, "x", b"{")
    assert sorted(cluster.records.faults) == sorted([("Limits", "x"), (QUOTA_RECORD, "x")])
