"""Reasons by which kubelets refuse pods, and by which pods are unschedulable."""

from __future__ import annotations

import pytest

from poseidon.bridge.unschedulable_plugins import OTHER, PHRASES, PLUGINS, plugins_of
from poseidon.lifecycle.failed_scheduling_timing import reasons_of
from poseidon.lifecycle.kubelet_reasons import another_node_may_cure

HEAD = "0/9 nodes are available: "


@pytest.mark.parametrize(
    ("reason", "curable"),
    [
        ("OutOfcpu", True),
        ("OutOfnvidia.com/gpu", True),
        ("NodeAffinity", True),
        ("NodeName", True),
        ("NodePorts", True),
        ("TopologyAffinityError", True),
        ("UnexpectedAdmissionError", True),
        ("VolumeAttachmentLimitExceeded", True),
        ("node(s) had taints that the pod didn't tolerate", True),
        ("Evicted", False),
        ("NodeShutdown", False),
        ("PodFeatureUnsupported", False),
        ("NotOutOfcpu", False),
        ("", False),
    ],
)
def test_another_node_may_cure_what_is_lacking_on_one(reason, curable):
    assert another_node_may_cure(reason) is curable


@pytest.mark.parametrize(("phrase", "plugin"), PHRASES)
def test_each_phrase_is_of_its_plugin(phrase, plugin):
    assert plugin in plugins_of(f"{HEAD}4 {phrase}.")


def test_each_plugin_is_named_once_in_the_order_of_the_list():
    message = f"{HEAD}1 Insufficient memory, 2 Insufficient cpu, 3 node(s) were unschedulable."
    assert plugins_of(message) == ("NodeResourcesFit", "NodeUnschedulable")


def test_what_is_said_of_victims_is_no_reason():
    message = f"{HEAD}1 Insufficient cpu. preemption: {HEAD}1 node(s) were unschedulable"
    assert plugins_of(message) == ("NodeResourcesFit",)
    assert plugins_of(f"x preemption: {HEAD}1 Insufficient cpu") == (OTHER,)


def test_there_are_few_names_each_once():
    assert len(set(PLUGINS)) == len(PLUGINS)
    assert PLUGINS[-1] == OTHER


@pytest.mark.parametrize(
    ("message", "gist"),
    [
        (f"{HEAD}4 b, 5 a. preemption: more", "a, b"),
        (f"{HEAD}4 b, 5 a.", "a, b"),
        (f"{HEAD}11 a", "a"),
        ("0/12 nodes are available: 3 a.", "a"),
        ("waits for its claim, 3 times.", "waits for its claim, 3 times."),
        (f"{HEAD}a 4 b.", "a 4 b"),
    ],
)
def test_the_gist_of_a_message_has_no_counts(message, gist):
    assert reasons_of(message) == gist
