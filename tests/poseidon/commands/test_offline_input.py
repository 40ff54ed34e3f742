"""The input of offline commands: what is named, what is assumed, and at what time."""

from __future__ import annotations

import json

import pytest

from tests.poseidon.offline.objects import node, pod


def test_manifests_have_to_be_named(run):
    outcome = run("plan")
    assert outcome.status == 2
    assert "no manifests given; name files, folders or - with -f" in outcome.stderr


def test_standard_input_may_be_read(run):
    objects = {"apiVersion": "v1", "kind": "List", "items": [node("n1"), pod("p")]}
    found = run("plan", "-f", "-", "-o", "json", stdin=json.dumps(objects)).json
    assert [each["pod"] for each in found["bindings"]] == ["shop/p"]


def test_nodes_may_be_assumed_besides(run, write):
    file = write(pod("p", cpu=3))
    assert run("plan", "-f", file, "-o", "json").json["bindings"] == []
    assert len(run("plan", "-f", file, "-o", "json", "--add-nodes", "1").json["bindings"]) == 1
    small = run("plan", "-f", file, "-o", "json", "--add-nodes", "2:cpu=2").json
    assert (small["bindings"], small["round"]["machines"]) == ([], 2)


def test_assumed_nodes_need_manifests_and_make_sense(run, write):
    alone = run("plan", "--add-nodes", "1")
    assert (alone.status, "--add-nodes needs manifests; name files or folders with -f" in alone.stderr) == (
        2,
        True,
    )
    odd = run("plan", "-f", write(pod("p")), "--add-nodes", "many")
    assert (odd.status, odd.stderr.startswith("--add-nodes: ")) == (2, True)


@pytest.mark.parametrize(
    "text", ["2026-01-31T12:00:00Z", "2026-01-31t12:00:00z", "2026-01-31 12:00:00.5+01:00"]
)
def test_a_time_is_as_rfc_3339_has_it(run, write, text):
    assert run("plan", "-f", write(node("n1")), "--now", text, "-o", "json").status == 0


@pytest.mark.parametrize("text", ["2026-01-31", "noon", "2026-13-31T12:00:00Z", "2026-01-31T12:00:00", ""])
def test_other_times_are_refused(run, write, text):
    outcome = run("plan", "-f", write(node("n1")), "--now", text)
    assert outcome.status == 2
    remedy = "write one such as 2026-01-31T12:00:00Z"
    assert outcome.stderr == f"--now: {text!r} is not an RFC 3339 time; {remedy}\n"


def test_the_configuration_is_printed_instead(run, tmp_path):
    file = tmp_path / "configuration.yaml"
    file.write_text(
        "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\nschedulerNames: [mine]\n"
    )
    printed = run("plan", "--print-config", "--config", file)
    assert printed.status == 0
    assert "schedulerNames:" in printed.stdout
    assert "mine" in printed.stdout


def test_a_faulty_configuration_is_a_line_and_status_2(run, write, tmp_path):
    file = tmp_path / "configuration.yaml"
    file.write_text("schedulerNames: 5\n")
    outcome = run("plan", "-f", write(node("n1")), "--config", file)
    assert outcome.status == 2
    assert str(file) in outcome.stderr


def test_strictly_nothing_may_be_given_twice_differently(run, write):
    file = write(node("n1", cpu=4), node("n1", cpu=2), pod("p", cpu=3))
    assert run("plan", "-f", file, "-o", "json").json["bindings"] == []
    refused = run("plan", "-f", file, "--strict")
    assert refused.status == 2
    assert "n1" in refused.stderr


def test_defects_of_manifests_are_lines_and_status_2(run, tmp_path):
    file = tmp_path / "odd.yaml"
    file.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: 5}\n")
    outcome = run("plan", "-f", file)
    assert outcome.status == 2
    assert outcome.stderr.count("\n") == 1
    assert "odd.yaml" in outcome.stderr
