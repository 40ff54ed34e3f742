"""Which plugins of kube-scheduler the message of a pending pod names."""

from __future__ import annotations

import pytest

from poseidon.bridge.unschedulable_plugins import OTHER, PLUGINS, plugins_of

MANY = (
    "0/9 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 2 node(s) had untolerated taint(s), "
    "5 node(s) didn't match Pod's node affinity/selector. preemption: 0/9 nodes are available: "
    "9 No preemption victims found: 1 node(s) were unschedulable."
)


@pytest.mark.parametrize(
    ("message", "plugins"),
    [
        (MANY, ["NodeResourcesFit", "TaintToleration", "NodeAffinity"]),
        ("0/1 nodes are available: 1 Too many pods.", ["NodeResourcesFit"]),
        ("0/1 nodes are available: 1 node(s) were unschedulable.", ["NodeUnschedulable"]),
        ("0/1 nodes are available: 1 node(s) were not ready.", ["TaintToleration"]),
        ("0/1 nodes are available: 1 node(s) didn't match the requested node name.", ["NodeName"]),
        (
            "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
            ["NodePorts"],
        ),
        (
            "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints.",
            ["PodTopologySpread"],
        ),
        (
            "2 node(s) didn't match pod affinity rules, 1 node(s) didn't satisfy existing pods anti-affinity rules.",
            ["InterPodAffinity"],
        ),
        ("0/1 nodes are available: 1 node(s) exceed max volume count.", ["NodeVolumeLimits"]),
        (
            "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind.",
            ["VolumeBinding"],
        ),
        ("0/1 nodes are available: 1 node(s) had no available volume zone.", ["VolumeZone"]),
        ("0/1 nodes are available: 1 node(s) had no available disk.", ["VolumeRestrictions"]),
        ('0/1 nodes are available: resourceclaim "a-gpu" not found.', ["DynamicResources"]),
        ("0/1 nodes are available: 1 cannot allocate all claims.", ["DynamicResources"]),
        ("queue: quota: 1 cpu is missing", ["Quota"]),
        ("0/1 nodes are available: 1 node(s) cpu usage exceed threshold.", ["LoadAwareScheduling"]),
        ("no nodes available to schedule pods", ["NoNodes"]),
        ("waits for members: 1 of 2", [OTHER]),
        ("preemption: 1 Insufficient cpu", ["NodeResourcesFit"]),
        ("a preemption: 1 Insufficient cpu", [OTHER]),
        ("", [OTHER]),
    ],
)
def test_plugins_of_a_message_are_named_once_without_those_that_are_about_victims(message, plugins):
    assert list(plugins_of(message)) == plugins
    assert set(plugins) <= {*PLUGINS}
