"""``poseidon explain``: which questions it takes, of what, and what it prints."""

from __future__ import annotations

import pytest

from tests.poseidon.offline.objects import node, pod


@pytest.fixture
def cluster(write):
    """A file of three nodes and two pods, one of which fits nowhere."""
    huge = pod("huge", cpu=99, metadata={"namespace": "default"})
    return write(*(node(f"n{index}") for index in range(3)), pod("small"), huge)


def said(outcome) -> str:
    assert outcome.status == 2
    return outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--pod", "a", "--workload", "b"], "--pod and --workload are two questions; ask one at a time"),
        ([], "no pod given; name one with --pod NAMESPACE/NAME"),
        (["--pod", "a", "--timeout", "1"], "--timeout is for a live cluster; leave -f away"),
        (["--pod", "a", "--cluster-name", "x"], "--cluster-name is for a live cluster; leave -f away"),
        (["--pod", "a", "--kubeconfig", "x"], "--kubeconfig is for a live cluster; leave -f away"),
        (["--workload", "w", "--most", "3"], "--most has no effect on a workload here; leave it out"),
        (["--workload", "w", "--html", "x"], "--html has no effect on a workload here; leave it out"),
        (
            ["--workload", "w", "--context", "x"],
            "--context has no effect on a workload here; leave it out",
        ),
        (["--workload", "nobody"], "--workload: "),
        (["--pod", "shop/nobody"], "--pod: "),
    ],
)
def test_questions_that_make_no_sense_of_files_are_refused(run, cluster, arguments, words):
    assert words in said(run("explain", "-f", cluster, *arguments))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--config", "x"], "--config is for files; name some with -f"),
        (["--strict"], "--strict is for files; name some with -f"),
        (["--now", "2026-01-31T12:00:00Z"], "--now is for files; name some with -f"),
    ],
)
def test_questions_that_make_no_sense_of_a_live_cluster_are_refused(run, arguments, words):
    assert words in said(run("explain", "--pod", "a", *arguments))


def test_a_bare_name_is_in_the_default_namespace(run, cluster):
    assert run("explain", "-f", cluster, "--pod", "huge", "-o", "json").json["pod"] == "default/huge"
    assert run("explain", "-f", cluster, "--pod", "shop/small", "-o", "json").json["pod"] == "shop/small"
    assert "default/small" in said(run("explain", "-f", cluster, "--pod", "small"))


@pytest.mark.parametrize(("most", "rows"), [("0", 3), ("1", 1), ("2", 2), ("3", 3)])
def test_so_many_nodes_are_shown(run, cluster, most, rows):
    printed = run("explain", "-f", cluster, "--pod", "huge", "--most", most).stdout.splitlines()
    begin = next(index for index, line in enumerate(printed) if line.startswith("NODE"))
    assert sum(line.startswith(("n0", "n1", "n2")) for line in printed[begin:]) == rows
    assert ("--most 0 shows all nodes, and so does -o json." in printed) is (rows < 3)
    counted = [line for line in printed if " more: " in line]
    assert counted == ([f"{3 - rows} more: Insufficient cpu"] if rows < 3 else [])


def test_a_page_is_written_as_well(run, cluster, tmp_path):
    page = tmp_path / "pod.html"
    assert run("explain", "-f", cluster, "--pod", "huge", "--html", page).status == 0
    assert "default/huge" in page.read_text()


def test_the_expected_start_is_of_the_pod_that_waits(run, cluster):
    options = ("--now", "2026-01-31T12:00:00Z", "-o", "json", "--when")
    found = run("explain", "-f", cluster, "--pod", "huge", *options).json
    assert found["expectedStart"]["pod"] == "default/huge"
    plain = run("explain", "-f", cluster, "--pod", "huge", *options[:-1]).json
    assert "expectedStart" not in plain
