"""``poseidon plan``: whose pods it places, what it prints, and how it ends."""

from __future__ import annotations

import pytest

from tests.poseidon.offline.objects import node, pod


def bound(found: dict) -> list[str]:
    return sorted(each["pod"] for each in found["bindings"])


@pytest.mark.parametrize(
    ("names", "placed"), [((), ["a", "b", "c"]), (("x",), ["a"]), (("x", "y"), ["a", "b"]), (("z",), [])]
)
def test_only_pods_of_the_named_schedulers_are_placed(run, write, names, placed):
    file = write(node("n1"), pod("a", schedulerName="x"), pod("b", schedulerName="y"), pod("c"))
    options = [each for name in names for each in ("--scheduler-name", name)]
    assert bound(run("plan", "-f", file, "-o", "json", *options).json) == [f"shop/{name}" for name in placed]


def test_pending_pods_are_a_failure_only_if_that_is_asked_for(run, write):
    full = write(node("n1"), pod("a"), pod("huge", cpu=99))
    assert run("plan", "-f", full).status == 0
    assert run("plan", "-f", full, "--fail-pending").status == 3
    assert run("plan", "-f", full, "--fail-pending", "-o", "json").status == 3
    assert run("plan", "-f", write(node("n1"), pod("a"), name="fits.yaml"), "--fail-pending").status == 0


def test_moves_are_planned_only_if_that_is_asked_for_and_have_a_price(run, write):
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "own", "uid": "own", "controller": True}
    crowd = [
        pod(f"p{index}", cpu=1, phase="Running", nodeName="a", metadata={"ownerReferences": [owner]})
        for index in range(8)
    ]
    file = write(node("a", cpu=10), node("b", cpu=10), *crowd)

    def moves(*options: str) -> list[dict]:
        return run("plan", "-f", file, "-o", "json", *options).json["migrations"]

    assert moves() == []
    assert moves("--move-cost", "1") == []
    assert len(moves("--reschedule", "--move-cost", "1")) == 4
    assert moves("--reschedule", "--move-cost", "100000") == []
    table = run("plan", "-f", file, "--reschedule", "--move-cost", "1").stdout
    assert "MIGRATED POD" in table


def test_a_wide_table_lists_each_waiting_pod(run, write):
    file = write(node("n1"), pod("huge-1", cpu=99), pod("huge-2", cpu=99))
    short, wide = run("plan", "-f", file).stdout, run("plan", "-f", file, "-o", "wide").stdout
    assert ("PENDING POD" in short, "PENDING POD" in wide) == (False, True)
    assert "shop/huge-2" in wide


def test_a_page_is_written_as_well(run, write, tmp_path):
    page = tmp_path / "plan.html"
    outcome = run("plan", "-f", write(node("n1"), pod("a")), "--html", page)
    assert outcome.status == 0
    assert "shop/a" in outcome.stdout
    assert "shop/a" in page.read_text()


def test_expected_starts_are_added_only_if_that_is_asked_for(run, write):
    file = write(node("n1"), pod("huge", cpu=99))
    plain = run("plan", "-f", file, "-o", "json", "--now", "2026-01-31T12:00:00Z").json
    assert "expectedStarts" not in plain
    more = run("plan", "-f", file, "-o", "json", "--now", "2026-01-31T12:00:00Z", "--when").json
    assert [*more["expectedStarts"]]
    table = run("plan", "-f", file, "--now", "2026-01-31T12:00:00Z", "--when").stdout
    assert len(table.splitlines()) > len(
        run("plan", "-f", file, "--now", "2026-01-31T12:00:00Z").stdout.splitlines()
    )
