"""``poseidon audit``: its options, and how much of each table is shown."""

from __future__ import annotations

import pytest

from tests.poseidon.offline.objects import node, pod


def overcommitted(write, count: int):
    """Files of so many nodes that have more than they offer."""
    names = [f"full-{index:02}" for index in range(count)]
    return write(
        *map(node, names), *(pod(f"p-{name}", cpu=9, phase="Running", nodeName=name) for name in names)
    )


@pytest.fixture
def crowded(write):
    """Files of five nodes that have more than they offer."""
    return overcommitted(write, 5)


def lines_of(printed: str) -> list[str]:
    """The lines below the heading of the table of overcommitted nodes."""
    _, _, table = printed.partition("OVERCOMMITTED NODE")
    return table.split("\n\n")[0].splitlines()[1:]


@pytest.mark.parametrize(
    ("limit", "rows", "more"),
    [
        ("2", 2, "... 3 more; --limit 0 shows all, and so does -o json."),
        ("4", 4, "... 1 more; --limit 0 shows all, and so does -o json."),
        ("5", 5, ""),
        ("0", 5, ""),
    ],
)
def test_tables_are_cut_at_a_limit_and_say_so(run, crowded, limit, rows, more):
    printed = run("audit", "-f", crowded, "--tries", "1", "--limit", limit)
    assert printed.status == 0
    lines = lines_of(printed.stdout)
    assert sum(line.startswith("full-") for line in lines) == rows
    assert [line for line in lines if line.startswith("...")] == ([more] if more else [])


def test_twenty_lines_are_shown_unless_it_is_said_otherwise(run, write):
    printed = run("audit", "-f", overcommitted(write, 21), "--tries", "1").stdout
    assert sum(line.startswith("full-") for line in lines_of(printed)) == 20


def test_files_and_a_live_cluster_do_not_mix(run, crowded, tmp_path):
    for option in (("--kubeconfig", tmp_path / "kubeconfig"), ("--context", "x")):
        outcome = run("audit", "-f", crowded, *option)
        assert outcome.status == 2
        assert "--kubeconfig and --context are for a live cluster; leave -f away" in outcome.stderr


def test_a_page_is_written_as_well(run, crowded, tmp_path):
    page = tmp_path / "audit.html"
    assert run("audit", "-f", crowded, "--tries", "1", "--html", page).status == 0
    assert "full-03" in page.read_text()


def test_pods_with_local_data_move_only_if_they_may(run, write):
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "own", "uid": "own", "controller": True}
    local = {"volumes": [{"name": "v", "emptyDir": {}}]}
    pods = [
        pod(name, cpu=1, phase="Running", nodeName=name, metadata={"ownerReferences": [owner]}, **local)
        for name in "ab"
    ]
    file = write(node("a"), node("b"), *pods)

    def freed(*options: str) -> list[str]:
        return run("audit", "-f", file, "-o", "json", *options).json["consolidation"]["freed"]

    assert freed() == []
    assert len(freed("--delete-emptydir-data")) == 1
    assert freed("--delete-emptydir-data", "--most-moves", "0") == []
