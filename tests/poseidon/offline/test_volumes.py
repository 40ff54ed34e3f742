"""The examples of volumes, against verdicts that were written down by hand; and claims as people write them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import yaml

from tests.poseidon.offline.objects import node, pod
from tests.support.storage import (
    HOSTNAME,
    ZONE,
    attachment,
    claim,
    csi_driver,
    csi_node,
    storage_capacity,
    storage_class,
    using,
    volume,
)

EXAMPLE = Path(__file__).parents[3] / "examples" / "04-volumes"
HEADER = "apiVersion: firmament.io/v1alpha1\nkind: SchedulerConfiguration\n"
NODES = EXAMPLE / "nodes.yaml"
RULES = sorted(file.stem for file in EXAMPLE.glob("*.yaml") if file != NODES)
README = (EXAMPLE / "README.md").read_text()


def expected(rule):
    return json.loads((EXAMPLE / "expected" / f"{rule}.json").read_text())


EXPLAINED = [(rule, name) for rule in RULES for name in expected(rule)["explain"]]


@pytest.mark.parametrize(("rule", "name"), EXPLAINED)
def test_verdicts(run, rule, name):
    answer = run("explain", "-f", NODES, "-f", EXAMPLE / f"{rule}.yaml", "--pod", name, "-o", "json").json
    found = {node: each["reasons"] for node, each in answer["nodes"].items()}
    wanted = expected(rule)["explain"][name]
    assert found == {node: [reason] if reason else [] for node, reason in wanted.items()}
    assert all(each["feasible"] == (not each["reasons"]) for each in answer["nodes"].values())


@pytest.mark.parametrize("rule", RULES)
def test_plans(run, rule):
    answer = run("plan", "-f", NODES, "-f", EXAMPLE / f"{rule}.yaml", "-o", "json").json
    wanted = expected(rule)
    bound = {each["pod"]: each["node"] for each in answer["bindings"]}
    pending = {each["pod"]: each["reason"] for each in answer["pending"]}
    some = wanted.get("anyOf", {"pods": [], "bound": 0, "nodes": []})
    of_some = [bound.pop(name) for name in some["pods"] if name in bound]
    assert len(of_some) == some["bound"]
    assert set(of_some) <= set(some["nodes"])
    left_over = [pending.pop(name) for name in some["pods"] if name in pending]
    assert all(reason.startswith(some["pending"]) for reason in left_over)
    assert pending == wanted["pending"]
    assert bound.keys() == wanted["bindings"].keys()
    for name, chosen in bound.items():
        assert chosen in wanted["bindings"][name], name


def test_every_expectation_belongs_to_a_rule_and_covers_all_nodes():
    assert sorted(file.stem for file in (EXAMPLE / "expected").iterdir()) == RULES
    objects = yaml.safe_load_all(NODES.read_text())
    names = {each["metadata"]["name"] for each in objects if each["kind"] == "Node"}
    assert all(verdicts.keys() == names for rule in RULES for verdicts in expected(rule)["explain"].values())


def test_the_readme_lists_every_rule():
    assert all(f"]({rule}.yaml)" in README for rule in RULES)


@pytest.mark.parametrize(
    "command",
    [line.removeprefix("$ poseidon ") for line in README.splitlines() if line.startswith("$ poseidon ")],
)
def test_the_readmes_commands_run(run, monkeypatch, command):
    monkeypatch.chdir(EXAMPLE.parents[1])
    outcome = run(*shlex.split(command))
    assert (outcome.status, outcome.stderr) == (0, "")
    assert outcome.stdout


# --- claims as people write them, and as clusters print them ----------------------------------------------------


def in_shop(name, **options):
    return claim(name, namespace="shop", **options)


def planned(run, write, *objects):
    answer = run("plan", "-f", write(*objects), "-o", "json").json
    pending = {each["pod"]: each["reason"] for each in answer["pending"]}
    return {each["pod"]: each["node"] for each in answer["bindings"]}, pending


def test_a_claim_without_a_class_gets_the_default_one(run, write):
    default = storage_class("fast")
    default["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    objects = [node("n1"), in_shop("c", storage_class=None), pod("p", volumes=using("c"))]
    assert planned(run, write, default, *objects)[0] == {"shop/p": "n1"}
    assert planned(run, write, *objects)[1] == {
        "shop/p": "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims: "
        'persistentvolumeclaim "c" names no StorageClass.'
    }


def test_a_claim_that_names_a_volume_which_is_not_there_says_so(run, write):
    found = in_shop("c", storage_class="")
    found["spec"]["volumeName"] = "gone"
    found.pop("status", None)
    found["metadata"]["annotations"] = {}
    assert planned(run, write, node("n1"), found, pod("p", volumes=using("c")))[1] == {
        "shop/p": "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims: "
        'PersistentVolume "gone" that persistentvolumeclaim "c" names does not exist.'
    }


@pytest.mark.parametrize(("owner", "bound"), [("p", True), ("another", False)])
def test_the_claim_of_an_ephemeral_volume_belongs_to_its_pod(run, write, owner, bound):
    found = in_shop("p-scratch", volume="v")
    found["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": owner, "uid": "1-2-3", "controller": True}
    ]
    scratch = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    placed, pending = planned(
        run, write, node("n1"), storage_class(), volume("v"), found, pod("p", volumes=scratch)
    )
    assert bool(placed) is bound
    reason = "PVC shop/p-scratch was not created for pod shop/p (pod is not owner)"
    assert bool(pending) is not bound
    assert all(text == f"0/1 nodes are available: {reason}." for text in pending.values())


def test_of_two_pods_for_one_place_the_more_important_one_is_placed(run, write):
    solo = in_shop("c", volume="v", modes=("ReadWriteOncePod",))
    pods = [pod("a", volumes=using("c")), pod("b", volumes=using("c"), priority=5)]
    placed, pending = planned(run, write, node("n1"), volume("v", to="shop/c"), solo, *pods)
    assert (set(placed), set(pending)) == ({"shop/b"}, {"shop/a"})


def uneven():
    """Four nodes of which two refuse most pods for other reasons than volumes."""
    return [node("a"), node("b"), node("cordoned", unschedulable=True), node("small", memory="1Mi")]


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (
            {},
            (
                "0/4 nodes are available: 2 No preemption victims found for incoming pod, "
                "2 Preemption is not helpful for scheduling."
            ),
        ),
        ({"preemptionPolicy": "Never"}, "not eligible due to preemptionPolicy=Never."),
    ],
)
def test_a_pod_whose_claim_is_in_use_learns_what_refuses_it_first_on_each_node(run, write, spec, told):
    solo = in_shop("c", volume="v", modes=("ReadWriteOncePod",))
    running = pod("runs", volumes=using("c"), nodeName="a", phase="Running")
    waiting = pod("waits", volumes=using("c"), **spec)
    objects = [*uneven(), volume("v", to="shop/c"), solo, running, waiting]
    assert planned(run, write, *objects)[1] == {
        "shop/waits": "0/4 nodes are available: 1 Insufficient memory, "
        "1 node(s) were unschedulable, 2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod "
        f"access mode already in-use by another pod. no new claims to deallocate, preemption: {told}"
    }
    reasons = run("explain", "-f", write(*objects), "--pod", "shop/waits", "-o", "json").json["nodes"]
    assert reasons["small"]["reasons"] == ["Insufficient memory"]
    assert reasons["b"]["reasons"][0].endswith("already in-use by another pod")
    assert planned(run, write, *objects[:-2], waiting)[0].keys() == {"shop/waits"}


def test_a_more_important_pod_has_the_holder_of_its_claim_evicted(run, write):
    """On the holder's node, and nobody else anywhere, be it that the holder shares its node with others."""
    solo = in_shop("c", volume="v", modes=("ReadWriteOncePod",))
    running = [
        pod("runs", volumes=using("c"), nodeName="b", phase="Running", priority=3),
        pod("beside", nodeName="b", phase="Running"),
    ]
    objects = [*uneven(), volume("v", to="shop/c"), solo, *running]
    waiting = [pod("later", volumes=using("c"), priority=4), pod("waits", volumes=using("c"), priority=5)]
    answer = run("plan", "-f", write(*objects, *waiting), "-o", "json").json
    assert [each["pod"] for each in answer["preemptions"]] == ["shop/runs"]
    assert {each["pod"]: each["node"] for each in answer["bindings"]} == {"shop/waits": "b"}
    [later] = answer["pending"]
    assert "already in-use by another pod" in later["reason"]


@pytest.mark.parametrize(
    ("holder", "spec"),
    [
        ({"priority": 5}, {"priority": 5}),
        ({"priority": 1}, {"priority": 5, "preemptionPolicy": "Never"}),
        ({"priority": 1}, {"priority": 5, "nodeSelector": {"kubernetes.io/hostname": "b"}}),
    ],
    ids=["equal", "never", "elsewhere"],
)
def test_the_holder_of_a_claim_stays_if_that_does_not_help(run, write, holder, spec):
    solo = in_shop("c", volume="v", modes=("ReadWriteOncePod",))
    running = pod("runs", volumes=using("c"), nodeName="a", phase="Running", **holder)
    waiting = pod("waits", volumes=using("c"), **spec)
    placed, pending = planned(
        run, write, node("a"), node("b"), volume("v", to="shop/c"), solo, running, waiting
    )
    assert placed == {}
    assert "already in-use by another pod" in pending["shop/waits"]


def test_holders_of_two_claims_go_together_or_not_at_all(run, write):
    """Only where both are on one node."""
    claims = [in_shop(name, volume=f"v-{name}", modes=("ReadWriteOncePod",)) for name in ("c", "d")]
    volumes = [volume(f"v-{name}", to=f"shop/{name}") for name in ("c", "d")]
    waiting = pod("waits", volumes=using("c", "d"), priority=5)
    for places, victims in ((("a", "a"), ["shop/x", "shop/y"]), (("a", "b"), [])):
        running = [
            pod(name, volumes=using(key), nodeName=place, phase="Running")
            for name, key, place in zip("xy", "cd", places, strict=True)
        ]
        objects = [node("a"), node("b"), *volumes, *claims, *running, waiting]
        answer = run("plan", "-f", write(*objects), "-o", "json").json
        assert sorted(each["pod"] for each in answer["preemptions"]) == victims


def test_an_ephemeral_claim_without_its_volume_is_missed_on_each_node(run, write):
    found = in_shop("p-scratch", volume="v", owner="p")
    scratch = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]
    assert planned(run, write, *uneven(), storage_class(), found, pod("p", volumes=scratch))[1] == {
        "shop/p": "0/4 nodes are available: 1 Insufficient memory, 1 node(s) were unschedulable, "
        "2 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s). "
        "no new claims to deallocate, preemption: "
        "0/4 nodes are available: 4 Preemption is not helpful for scheduling."
    }


def test_a_volume_that_is_given_to_a_claim_already_decides(run, write):
    local = storage_class("fast", provisioner="kubernetes.io/no-provisioner")
    objects = [
        node("n1"),
        node("n2"),
        local,
        volume("v", to="shop/c", at=(HOSTNAME, ["n2"])),
        volume("w", at=(HOSTNAME, ["n1"])),
        in_shop("c"),
        pod("p", volumes=using("c")),
    ]
    assert planned(run, write, *objects)[0] == {"shop/p": "n2"}


def test_volumes_that_are_shared_by_the_nodes_of_a_zone(run, write):
    """More claims than volumes: plan counts no further than whether there is one, see docs/volumes.md."""
    first = node("n1")
    first["metadata"]["labels"][ZONE] = "a"
    objects = [
        first,
        node("n2"),
        storage_class("fast", provisioner="kubernetes.io/no-provisioner"),
        volume("v", at=(ZONE, ["a"])),
        in_shop("c"),
        in_shop("other", size="2Gi"),
        pod("p", volumes=using("c")),
        pod("q", volumes=using("other")),
    ]
    placed, pending = planned(run, write, *objects)
    assert placed == {"shop/p": "n1"}
    assert pending == {
        "shop/q": "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. "
        "no new claims to deallocate, preemption: "
        "0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    }


def shared(limit: int) -> list[dict]:
    """A node that has a volume attached, which a pod there and one that waits share, and one without room."""
    return [
        node("n1"),
        node("n2", cpu="50m"),
        csi_node("n1", disk_example_com=limit),
        csi_node("n2", disk_example_com=9),
        storage_class(),
        in_shop("c", volume="v"),
        volume("v", to="shop/c", driver="disk.example.com"),
        pod("runs", volumes=using("c"), nodeName="n1", phase="Running"),
        pod("joins", volumes=using("c")),
    ]


def test_a_volume_that_is_attached_already_counts_once(run, write):
    assert planned(run, write, *shared(limit=1)) == ({"shop/joins": "n1"}, {})


def test_it_costs_nothing_where_more_volumes_are_attached_than_should_be(run, write):
    assert planned(run, write, *shared(limit=0)) == ({"shop/joins": "n1"}, {})


def test_it_saves_its_users_alone_an_attachment(run, write):
    others = [in_shop("d", volume="w"), volume("w", to="shop/d", driver="disk.example.com")]
    objects = [
        *shared(limit=1),
        *others,
        pod("both", volumes=using("c", "d")),
        pod("other", volumes=using("d")),
    ]
    placed, pending = planned(run, write, *objects)
    assert placed == {"shop/joins": "n1"}
    assert pending.keys() == {"shop/both", "shop/other"}
    assert all("1 node(s) exceed max volume count" in reason for reason in pending.values())
    objects = [*shared(limit=2), *others, pod("both", volumes=using("c", "d"))]
    assert planned(run, write, *objects)[0] == {"shop/joins": "n1", "shop/both": "n1"}


def test_explain_knows_what_is_attached(run, write):
    file = write(*shared(limit=1))
    answer = run("explain", "-f", file, "--pod", "shop/joins", "-o", "json").json
    assert answer["nodes"]["n1"]["reasons"] == []


def test_limits_hold_within_a_round(run, write):
    objects = [node("n1"), csi_node("n1", disk_example_com=2), storage_class()]
    for index in range(3):
        objects += [in_shop(f"c{index}"), pod(f"p{index}", volumes=using(f"c{index}"))]
    placed, pending = planned(run, write, *objects)
    assert len(placed) == 2
    [reason] = pending.values()
    assert reason.startswith("0/1 nodes are available: 1 node(s) exceed max volume count.")


@pytest.mark.parametrize(
    ("bad", "line"),
    [
        (
            volume("v", size="much"),
            "PersistentVolume v: spec.capacity.storage: 'much' is not a quantity",
        ),
        (
            in_shop("c", size="-1"),
            "PersistentVolumeClaim shop/c: spec.resources.requests.storage: '-1' is negative",
        ),
        (
            {**storage_class("s"), "volumeBindingMode": "Later"},
            "StorageClass s: volumeBindingMode: unknown mode 'Later'",
        ),
        (
            volume("v", at=("", ["a"])),
            "PersistentVolume v: spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: missing",
        ),
    ],
)
def test_bad_storage_objects_are_refused_with_one_line(run, write, bad, line):
    outcome = run("plan", "-f", write(node("n1"), bad))
    assert outcome.status == 2
    assert line in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


# --- drivers that say how much they can make -----------------------------------------------------------------------


def pool(**capacities):
    """A driver and its storage class; capacity by node."""
    parts = [
        storage_capacity(f"at-{name}", "pool", {"matchLabels": {HOSTNAME: name}}, capacity=amount)
        for name, amount in capacities.items()
    ]
    return [csi_driver("pool.example.com"), storage_class("pool", provisioner="pool.example.com"), *parts]


@pytest.mark.parametrize(
    ("scoring", "chosen"), [(True, "z"), (False, "n")], ids=["the emptiest", "no difference"]
)
def test_the_share_of_a_capacity_that_stays_unused_may_decide(run, write, tmp_path, scoring, chosen):
    config = tmp_path / "config.yaml"
    config.write_text(HEADER + f"volumes: {{capacityScoring: {str(scoring).lower()}}}\n")
    nodes = [node(name, labels={HOSTNAME: name}) for name in ("n", "z")]
    file = write(
        *nodes,
        *pool(n="20Gi", z="100Gi"),
        in_shop("c", storage_class="pool", size="10Gi"),
        pod("p", volumes=using("c")),
    )
    answer = run("plan", "-f", file, "--config", config, "-o", "json").json
    assert [each["node"] for each in answer["bindings"]] == [chosen]


def test_each_claim_of_a_pod_has_to_fit_and_drivers_that_say_nothing_are_not_asked(run, write):
    nodes = [node("n", labels={HOSTNAME: "n"})]
    small, large = (
        in_shop(name, storage_class="pool", size=size) for name, size in (("s", "1Gi"), ("l", "30Gi"))
    )
    both = pod("p", volumes=using("s", "l"))
    full = "0/1 nodes are available: 1 node(s) did not have enough free storage."
    assert planned(run, write, *nodes, *pool(n="20Gi"), small, large, both)[1]["shop/p"].startswith(full)
    silent = [csi_driver("pool.example.com", capacity=False), *pool(n="20Gi")[1:]]
    assert planned(run, write, *nodes, *silent, small, large, both)[0] == {"shop/p": "n"}


# --- disks without claims -------------------------------------------------------------------------------------------

GCE, AWS, ISCSI, RBD = "gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"


def mounting(name, kind, **source):
    return pod(name, volumes=[{"name": "data", kind: source}])


@pytest.mark.parametrize(
    ("kind", "first", "second", "together"),
    [
        (GCE, {"pdName": "d"}, {"pdName": "d"}, False),
        (GCE, {"pdName": "d", "readOnly": True}, {"pdName": "d"}, False),
        (GCE, {"pdName": "d", "readOnly": True}, {"pdName": "d", "readOnly": True}, True),
        (GCE, {"pdName": "d"}, {"pdName": "e"}, True),
        (AWS, {"volumeID": "v"}, {"volumeID": "v"}, False),
        (AWS, {"volumeID": "v", "readOnly": True}, {"volumeID": "v", "readOnly": True}, False),
        (AWS, {"volumeID": "v"}, {"volumeID": "w"}, True),
        (ISCSI, {"iqn": "i", "targetPortal": "a"}, {"iqn": "i", "targetPortal": "b"}, False),
        (ISCSI, {"iqn": "i", "readOnly": True}, {"iqn": "i", "readOnly": True}, True),
        (
            RBD,
            {"monitors": ["a", "b"], "image": "i"},
            {"monitors": ["b"], "pool": "rbd", "image": "i"},
            False,
        ),
        (RBD, {"monitors": ["a"], "image": "i"}, {"monitors": ["b"], "image": "i"}, True),
        (RBD, {"monitors": ["a"], "pool": "p", "image": "i"}, {"monitors": ["a"], "image": "i"}, True),
    ],
)
def test_a_node_has_a_disk_once_unless_all_only_read(run, write, kind, first, second, together):
    placed, pending = planned(
        run, write, node("n"), mounting("a", kind, **first), mounting("b", kind, **second)
    )
    assert len(placed) == (2 if together else 1)
    told = "0/1 nodes are available: 1 node(s) had no available disk."
    assert all(reason.startswith(told) for reason in pending.values())
    running = mounting("a", kind, **first)
    running["spec"]["nodeName"], running["status"]["phase"] = "n", "Running"
    placed, pending = planned(run, write, node("n"), running, mounting("b", kind, **second))
    assert (bool(placed), bool(pending)) == (together, not together)
    assert all(reason.startswith(told) for reason in pending.values())


def test_pods_with_one_disk_go_to_nodes_of_their_own(run, write):
    pods = [mounting(name, GCE, pdName="d") for name in "abc"]
    placed, pending = planned(run, write, node("m"), node("n"), *pods)
    assert (sorted(placed.values()), len(pending)) == (["m", "n"], 1)


# --- attach limits: what no pod holds any more, and disks without claims ----------------------------------------------

FULL = "node(s) exceed max volume count"
DISK = "disk.example.com"
AZURE, CINDER, VSPHERE, PORTWORX = "azureDisk", "cinder", "vsphereVolume", "portworxVolume"
GCE_DRIVER, AWS_DRIVER = "pd.csi.storage.gke.io", "ebs.csi.aws.com"


def limited(driver, count, *names):
    """Nodes whose driver attaches so many volumes, each with its CSINode."""
    for name in names:
        found = csi_node(name)
        found["spec"]["drivers"] = [{"name": driver, "nodeID": name, "allocatable": {"count": count}}]
        yield from (node(name), found)


def attachable(name):
    """A claim and its volume."""
    return [in_shop(name, volume=f"v-{name}"), volume(f"v-{name}", to=f"shop/{name}", driver=DISK)]


def running(name, at, volumes, **spec):
    return pod(name, volumes=volumes, nodeName=at, phase="Running", **spec)


@pytest.mark.parametrize(
    ("attached", "limit", "bound"),
    [
        ([("n", "v-old", "")], 1, False),
        ([("n", "v-old", "")], 2, True),
        ([("n", "v-unknown", "")], 1, False),
        ([("n", "v-c", "")], 1, True),
        ([("n", "v-c", ""), ("n", "v-old", "")], 1, True),
        ([("m", "v-old", "")], 1, True),
        ([("m", "v-c", "")], 1, True),
        ([("n", "", "handle")], 1, False),
    ],
    ids=[
        "gone",
        "room",
        "no-volume",
        "own",
        "own-beside-another",
        "elsewhere",
        "own-elsewhere",
        "without-volume",
    ],
)
def test_what_is_attached_without_a_pod_counts(run, write, attached, limit, bound):
    """A volume that is being detached has its place until it is."""
    places = [
        attachment(f"a{index}", at, DISK, volume=name, handle=handle)
        for index, (at, name, handle) in enumerate(attached)
    ]
    tainted = node("m", taints=[{"key": "k", "effect": "NoSchedule"}])
    objects = [*limited(DISK, limit, "n"), tainted, *attachable("c"), *attachable("old"), *places]
    placed, pending = planned(run, write, *objects, pod("p", volumes=using("c")))
    assert placed == ({"shop/p": "n"} if bound else {})
    assert all(FULL in reason for reason in pending.values())


def test_an_attachment_of_a_pod_that_is_there_counts_once_and_goes_with_it(run, write):
    holds = [attachment("a", "n", DISK, volume="v-c")]
    objects = [*limited(DISK, 2, "n"), *attachable("c"), *attachable("d"), *attachable("e"), *holds]
    here = running("runs", "n", using("c"))
    assert len(planned(run, write, *objects, here, pod("p", volumes=using("d")))[0]) == 1
    pods = [pod("p", volumes=using("d", "e"), priority=5)]
    answer = run("plan", "-f", write(*objects, here, *pods), "-o", "json").json
    assert [each["pod"] for each in answer["preemptions"]] == ["shop/runs"]


@pytest.mark.parametrize(
    ("driver", "kind", "first", "second"),
    [
        (GCE_DRIVER, GCE, {"pdName": "d"}, {"pdName": "e"}),
        (AWS_DRIVER, AWS, {"volumeID": "d"}, {"volumeID": "e"}),
        ("disk.csi.azure.com", AZURE, {"diskName": "d", "diskURI": "/d"}, {"diskName": "d", "diskURI": "/e"}),
        ("cinder.csi.openstack.org", CINDER, {"volumeID": "d"}, {"volumeID": "e"}),
        ("csi.vsphere.vmware.com", VSPHERE, {"volumePath": "[x] d"}, {"volumePath": "[x] e"}),
        ("pxd.portworx.com", PORTWORX, {"volumeID": "d"}, {"volumeID": "e"}),
    ],
)
def test_disks_without_claims_count_for_the_driver_that_attaches_them(
    run, write, driver, kind, first, second
):
    """On their nodes and for pods that wait, once for each disk; a more important pod has room made for its own."""
    objects = [*limited(driver, 1, "n"), running("runs", "n", [{"name": "data", kind: first}])]
    placed, pending = planned(run, write, *objects, mounting("p", kind, **second))
    assert placed == {}
    assert FULL in pending["shop/p"]
    important = pod("p", volumes=[{"name": "data", kind: second}], priority=5)
    answer = run("plan", "-f", write(*objects, important), "-o", "json").json
    assert [each["pod"] for each in answer["preemptions"]] == ["shop/runs"]
    placed, pending = planned(
        run, write, *limited(driver, 1, "n"), mounting("a", kind, **first), mounting("b", kind, **second)
    )
    assert (len(placed), len(pending)) == (1, 1)
    unlimited = limited("another.example.com", 1, "n")
    assert (
        len(planned(run, write, *unlimited, mounting("a", kind, **first), mounting("b", kind, **second))[0])
        == 2
    )


def test_a_disk_that_pods_only_read_is_attached_once(run, write):
    shared = [{"name": "data", GCE: {"pdName": "d", "readOnly": True}}]
    objects = [*limited(GCE_DRIVER, 1, "n"), running("runs", "n", shared)]
    assert len(planned(run, write, *objects, pod("p", volumes=shared))[0]) == 1
    other = [{"name": "data", GCE: {"pdName": "e", "readOnly": True}}]
    assert FULL in planned(run, write, *objects, pod("p", volumes=other))[1]["shop/p"]


def test_a_disk_and_a_volume_of_one_driver_count_together(run, write):
    claimed = [in_shop("c", volume="v"), volume("v", to="shop/c", driver=AWS_DRIVER)]
    objects = [*limited(AWS_DRIVER, 2, "n"), *claimed, running("runs", "n", using("c"))]
    both = [mounting(name, AWS, volumeID=name) for name in "ab"]
    assert len(planned(run, write, *objects, both[0])[0]) == 1
    assert len(planned(run, write, *objects, *both)[0]) == 1


def test_a_disk_that_is_still_attached_is_its_next_pods_own(run, write):
    left = attachment("a", "n", AWS_DRIVER, handle="d")
    objects = [*limited(AWS_DRIVER, 1, "n"), left]
    assert len(planned(run, write, *objects, mounting("p", AWS, volumeID="aws://zone/d"))[0]) == 1
    assert FULL in planned(run, write, *objects, mounting("p", AWS, volumeID="e"))[1]["shop/p"]
