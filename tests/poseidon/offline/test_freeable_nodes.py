"""Nodes that could be freed: tried as they would be emptied, cordoned, and never ahead of pods that wait."""

from __future__ import annotations

import pytest
import yaml
from click.testing import CliRunner

from poseidon.cli import main
from tests.poseidon.offline.audit.test_audit import audited, moves_of, owned
from tests.poseidon.offline.objects import node, pod, pod_group

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"


def freed(found):
    return found["consolidation"]["freed"]


def kept(found, name):
    return {each["pod"]: each["reason"] for each in found["consolidation"]["staying"] if each["node"] == name}


def in_zone(name, zone, **spec):
    made = node(name, **spec)
    made["metadata"]["labels"][ZONE] = zone
    return made


def spread(key, **more):
    rule = {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
    }
    return {"metadata": {"labels": {"app": "x"}}, "topologySpreadConstraints": [{**rule, **more}]}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({}, []),
        ({"whenUnsatisfiable": "ScheduleAnyway"}, ["a"]),
        ({"maxSkew": 2}, ["a"]),
        ({"minDomains": 2}, []),
        # A cordoned node bears a taint, so that it is no domain for those who honour taints.
        ({"nodeTaintsPolicy": "Honor"}, ["a"]),
        ({"nodeTaintsPolicy": "Honor", "minDomains": 2}, []),
    ],
)
def test_a_cordoned_node_is_still_a_domain(tmp_path, rule, expected):
    pods = [owned("p", "a", **spread(ZONE, **rule)), owned("q", "b", **spread(ZONE, **rule))]
    keep = pod("keep", phase="Running", nodeName="b")
    found = audited(tmp_path, in_zone("a", "1"), in_zone("b", "2"), keep, *pods)
    assert freed(found) == expected


def test_a_zone_with_another_node_is_left_by_the_first(tmp_path):
    pods = [owned("p", "a1", **spread(ZONE)), owned("q", "b", **spread(ZONE))]
    stays = [pod(f"keep-{name}", phase="Running", nodeName=name) for name in ("a2", "b")]
    nodes = [in_zone("a1", "1"), in_zone("a2", "1"), in_zone("b", "2")]
    found = audited(tmp_path, *nodes, *stays, *pods)
    assert (freed(found), moves_of(found)) == (["a1"], {"shop/p": ("a1", "a2")})


def test_a_pod_that_would_come_back_to_its_cordoned_node_keeps_it(tmp_path):
    everywhere = {"tolerations": [{"operator": "Exists"}], "nodeSelector": {HOST: "a"}}
    found = audited(tmp_path, node("a"), node("b"), owned("p", "a", **everywhere), owned("q", "b", cpu=4))
    assert freed(found) == []


def test_a_node_that_a_waiting_pod_gets_is_not_freed(tmp_path):
    found = audited(tmp_path, node("a"), node("b"), owned("p", "a"), owned("q", "b", cpu=2), pod("w", cpu=3))
    assert freed(found) == []
    assert kept(found, "a") == {"shop/w": "waits, and gets this node in the next round"}


def test_a_waiting_pod_that_fits_beside_others_frees_the_rest(tmp_path):
    found = audited(tmp_path, node("a"), node("b"), node("c"), owned("p", "a"), pod("w", cpu=4))
    assert len(freed(found)) == 1


def test_a_node_that_a_waiting_pod_takes_once_it_is_empty_is_not_freed(tmp_path):
    found = audited(
        tmp_path, *(node(name) for name in "abc"), owned("p", "a"), owned("q", "b"), owned("r", "c", cpu=2),
        pod("w", cpu=4),
    )  # fmt: skip
    ((room, reasons),) = [(name, kept(found, name)) for name in "abc" if kept(found, name)]
    assert reasons == {"shop/w": "waits, and gets this node once it is empty"}
    assert len(freed(found)) == 1, "one for it, one is free"
    assert {source for source, _ in moves_of(found).values()} == {room, *freed(found)}


def gpu(name):
    made = node(name, cpu=8)
    made["status"]["allocatable"]["nvidia.com/gpu"] = "8"
    return made


@pytest.mark.parametrize("beside", ["100m", 3], ids=["it fits", "it fits once the node is empty"])
def test_the_only_node_that_a_waiting_gang_can_have_is_not_freed(tmp_path, beside):
    gang = []
    for index in range(2):
        member = pod(f"g{index}", cpu=3, metadata={"labels": {"scheduling.x-k8s.io/pod-group": "g"}})
        member["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "4"}
        gang.append(member)
    others = owned("p", "gpu", cpu=beside), pod("q", phase="Running", nodeName="b")
    found = audited(tmp_path, gpu("gpu"), node("b"), *others, pod_group("g", 2), *gang)
    assert "gpu" not in freed(found)
    assert "shop/g0" in kept(found, "gpu")


def test_daemons_that_wait_keep_no_node(tmp_path):
    daemon = owned("d", "", owner="DaemonSet", affinity={
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]}}})  # fmt: skip
    daemon["status"] = {"phase": "Pending"}
    found = audited(tmp_path, node("a"), node("b"), daemon, owned("p", "b", cpu=2))
    assert freed(found) == ["a"]


def test_who_makes_way_is_not_moved_besides(tmp_path):
    waits = pod("w", cpu=4)
    waits["spec"]["priority"] = 100
    found = audited(tmp_path, node("a"), node("b"), owned("p", "a", cpu=2), owned("q", "b", cpu=1), waits)
    assert freed(found) == []


def test_people_get_a_summary_and_the_first_rows_in_natural_order(tmp_path):
    path = tmp_path / "cluster.yaml"
    nodes = [node(f"n{index}") for index in range(1, 31)]
    pods = [owned(f"p{index}", f"n{index}", cpu="100m") for index in range(1, 31)]
    path.write_text(yaml.safe_dump_all([*nodes, *pods, pod("keeper", phase="Running", nodeName="n1")]))
    shown = CliRunner().invoke(main, ["audit", "-f", str(path), "--limit", "3"])
    lines = shown.stdout.splitlines()
    assert lines[0] == "31 pods run on 30 nodes."
    assert lines[1] == "29 nodes could be freed by 29 moves; no choice frees more."
    assert "1 node is kept." in lines[:5]
    at = lines.index("FREED NODE")
    assert lines[at + 1 : at + 5] == [
        "n2", "n3", "n4", "... 26 more; --limit 0 shows all, and so does -o json."
    ]  # fmt: skip
    assert "1      1       has no controller that would replace it" in lines
    everything = CliRunner().invoke(main, ["audit", "-f", str(path), "--limit", "0"]).stdout.splitlines()
    at = everything.index("FREED NODE")
    assert everything[at + 1 : at + 30] == [f"n{index}" for index in range(2, 31)]
    assert shown.stderr == "", "progress is for terminals"
