"""What commands say before they do anything: options that do not go together, and values that make no sense."""

from __future__ import annotations

import pytest

from poseidon.commands.run import name_observer
from poseidon.commands.shared.connection import join_address

ADDRESS = "is no address; write for example http://127.0.0.1:9092/metrics"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulate"], "name one scenario, or --resume FILE"),
        (["simulate", "a.yaml", "--resume", "b"], "name one scenario, or --resume FILE"),
        (["simulate", "a.yaml", "--replay", "b"], "--replay takes the place of a scenario; name one of both"),
        (["simulate", "--resume", "a", "--replay", "b"], "--replay takes the place of a scenario"),
        (["simulate", "a.yaml", "--config", "b"], "--config goes with --replay; a scenario names its own"),
        (["top", "--bridge", "host:1"], f"--bridge: 'host:1' {ADDRESS}"),
        (["top", "--solver", "ftp://host"], f"--solver: 'ftp://host' {ADDRESS}"),
        (["ui", "--bridge", "host:1"], f"--bridge: 'host:1' {ADDRESS}"),
        (["ui", "--solver", "host:1"], f"--solver: 'host:1' {ADDRESS}"),
        (["ui", "--now", "2026-01-31T12:00:00Z"], "--now is for files; name some with --snapshot"),
        (
            ["ui", "--snapshot", "x", "--bridge", "http://h"],
            "--bridge is for a live cluster; leave --snapshot away",
        ),
        (
            ["ui", "--snapshot", "x", "--context", "c"],
            "--context is for a live cluster; leave --snapshot away",
        ),
        (
            ["ui", "--snapshot", "x", "--cluster-name", "c"],
            "--cluster-name is for a live cluster; leave --snapshot away",
        ),
        (["ui", "--trust-proxy", "x"], "'x' is no range of addresses; write for example 10.0.0.0/8"),
        (["ui", "--listen", "0.0.0.0:0"], ""),
        (["ui", "--token-file", "no-such-file"], "--token-file: no-such-file: No such file or directory"),
        (["ui", "--most-clients", "0"], "--most-clients"),
        (["run", "--record", "d", "--record-limit", "much"], "--record-limit: "),
        (
            ["run", "--record", "d", "--record-limit", "1048575"],
            "--record-limit: 1048575 is too little for a recording; give at least 1Mi",
        ),
        (["get", "queues", "-f", "x", "--context", "c"], "--kubeconfig and --context are for a live cluster"),
        (["demo", "--nodes", "0"], "--nodes"),
        (["demo", "--pods", "200001"], "--pods"),
        (["reschedule", "--move-cost", "0"], "--move-cost"),
        (["reschedule", "--most-moves", "0"], "--most-moves"),
        (["reschedule", "--at-once", "0"], "--at-once"),
        (["shadow", "--rate", "0"], "--rate"),
        (["netperf-probe", "--port", "0"], "--port"),
        (["netperf-probe", "--serve", "256.0.0.1:1"], "--serve 256.0.0.1:1: cannot listen"),
        (["audit", "--tries", "0"], "--tries"),
    ],
)
def test_senseless_options_end_a_command_with_a_line(run, arguments, words):
    outcome = run(*arguments)
    assert outcome.status == 2
    assert words in outcome.stderr
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize("command", ["audit", "reschedule", "shadow", "doctor", "tell-starts", "run"])
def test_a_kubeconfig_that_cannot_be_read_is_status_2(run, tmp_path, command):
    outcome = run(command, "--kubeconfig", tmp_path / "none")
    assert outcome.status == 2
    assert "none" in outcome.stderr


def test_credentials_in_an_address_are_not_repeated(run):
    outcome = run("top", "--bridge", "ftp://me:secret@host")
    assert outcome.status == 2
    assert "secret" not in outcome.stderr


@pytest.mark.parametrize(
    ("address", "text"),
    [(("host", 9090), "host:9090"), (("::1", 80), "[::1]:80"), (("10.0.0.1", 0), "10.0.0.1:0")],
)
def test_addresses_are_written_as_people_write_them(address, text):
    assert join_address(address) == text


def test_observers_have_names_of_their_own():
    assert name_observer("prod").startswith("prod.dry-run.")
    assert name_observer("prod", "doctor").startswith("prod.doctor.")


def test_the_configuration_of_the_bridge_is_printed_with_what_options_say(run):
    printed = run("run", "--print-config", "--scheduler-name", "mine", "--no-leader-elect").stdout
    assert "mine" in printed
    assert "leaderElect: false" in printed
    assert "leaderElect: true" in run("run", "--print-config", "--leader-elect").stdout


def test_queues_are_read_only_if_a_configuration_names_their_project(run, tmp_path):
    file = tmp_path / "empty.yaml"
    file.write_text("apiVersion: v1\nkind: List\nitems: []\n")
    outcome = run("get", "queues", "-f", file)
    assert outcome.status == 2
    assert "no queues are read; name their project in --config" in outcome.stderr
