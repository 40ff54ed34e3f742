"""What a group states orders groups; whom its pods may have go beyond that says their own PriorityClass."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pod_groups import DisruptionBudget
from tests.poseidon.bridge.objects import present
from tests.programs.tenants.scene import CRITICAL, Cluster, labelled, member, mirror, single
from tests.support.effort import examples

HIGHEST = str(2**31 - 1)


def attack(cluster, *, size=2, priority=0, states=HIGHEST):
    """A tenant's group that needs all of the one node."""
    cluster.group("grab", size, namespace="evil", **({"priority": states} if states else {}))
    cluster.create(
        *(
            member(f"grab-{index}", namespace="evil", group="grab", cpu="1", priority=priority)
            for index in range(size)
        )
    )
    cluster.run()


def protect(cluster, namespace, labels):
    """A budget that lets nobody go."""
    budget = convert_object(
        {
            "metadata": {"name": "keep", "namespace": namespace, "uid": f"{namespace}/keep"},
            "spec": {"maxUnavailable": 0, "selector": {"matchLabels": labels}},
            "status": {"disruptionsAllowed": 0},
        },
        DisruptionBudget,
    )
    [budgets] = cluster.state.custom_resources
    cluster.state.custom_records.get_handler(budgets, 0)([present(budget)])


def test_a_system_critical_pod_under_a_budget_stays_whatever_a_group_states():
    cluster = Cluster()
    cluster.create(
        labelled(
            single(
                "dns",
                namespace="kube-system",
                node="n1",
                cpu="2",
                priority=CRITICAL,
                scheduler="default-scheduler",
            ),
            {"k8s-app": "dns"},
        )
    )
    protect(cluster, "kube-system", {"k8s-app": "dns"})
    attack(cluster)
    assert cluster.evicted == []
    assert cluster.places == {"kube-system/dns": "n1"}


@pytest.mark.parametrize("scheduler", ["poseidon", "default-scheduler"])
@pytest.mark.parametrize("priority", [0, 1000])
def test_a_group_evicts_nobody_outside_groups_of_its_own_or_a_higher_class(scheduler, priority):
    cluster = Cluster()
    cluster.create(
        single("web", namespace="shop", node="n1", cpu="2", priority=priority, scheduler=scheduler)
    )
    attack(cluster)
    assert cluster.evicted == []


def test_a_group_evicts_pods_outside_groups_of_a_lower_class_whatever_it_states():
    for states in ("-5", "", HIGHEST):
        cluster = Cluster()
        cluster.create(single("web", namespace="shop", node="n1", cpu="2", priority=0))
        attack(cluster, priority=1, states=states)
        assert cluster.evicted == ["shop/web"], states
        assert cluster.places == {"evil/grab-0": "n1", "evil/grab-1": "n1"}, states


@pytest.mark.parametrize(
    ("states", "priority", "evicted"),
    [("5", 0, True), ("50", 0, False), ("5", 1, False), ("50", -1, True), ("", 0, True), (HIGHEST, 0, False)],
)
def test_groups_of_one_class_displace_each_other_by_what_they_state(states, priority, evicted):
    cluster = Cluster()
    cluster.group("train", 2, namespace="shop", **({"priority": states} if states else {}))
    cluster.create(
        *(
            member(name, namespace="shop", group="train", node="n1", cpu="1", priority=priority)
            for name in ("train-0", "train-1")
        )
    )
    attack(cluster, states="40")
    assert sorted(cluster.evicted) == (["shop/train-0", "shop/train-1"] if evicted else [])


def test_what_a_group_states_is_no_shield_against_a_higher_class():
    cluster = Cluster()
    cluster.group("shield", 2, namespace="evil", priority=HIGHEST)
    cluster.create(
        *(member(f"s-{index}", namespace="evil", group="shield", node="n1", cpu="1") for index in range(2))
    )
    cluster.create(single("web", namespace="shop", cpu="2", priority=1))
    cluster.run()
    assert cluster.places == {"shop/web": "n1"}


def test_groups_of_the_system_are_not_displaced_by_what_others_of_their_class_state():
    cluster = Cluster()
    cluster.group("core", 2, namespace="kube-system", priority="1")
    cluster.create(
        *(
            member(
                f"core-{index}", namespace="kube-system", group="core", node="n1", cpu="1", priority=CRITICAL
            )
            for index in range(2)
        )
    )
    attack(cluster, priority=CRITICAL)
    assert cluster.evicted == []


def test_a_static_pod_is_in_no_group_and_goes_only_for_a_higher_class():
    for priority, evicted in ((0, []), (1, ["infra/kubelet-proxy"])):
        cluster = Cluster()
        cluster.group("infra", 1, namespace="infra", priority="-100")
        cluster.create(mirror(member("kubelet-proxy", namespace="infra", group="infra", node="n1", cpu="2")))
        attack(cluster, priority=priority)
        assert cluster.evicted == evicted


def test_a_group_does_not_hold_up_more_important_pods_of_others_by_what_it_states():
    cluster = Cluster()
    cluster.group("grab", 2, namespace="evil", priority=HIGHEST)
    cluster.create(
        *(member(f"grab-{index}", namespace="evil", group="grab", cpu="1") for index in range(2)),
        single("web", namespace="shop", cpu="2", priority=1),
    )
    cluster.run()
    assert cluster.places == {"shop/web": "n1"}


ranks = st.tuples(st.sampled_from([0, 1, CRITICAL]), st.sampled_from([None, -3, 7, 2**31 - 1]))


@settings(max_examples=examples(40))
@given(st.lists(ranks, min_size=1, max_size=3), ranks)
def test_nobody_goes_against_the_rules(running, coming):
    """By the letter: a lower class; or, of one class below the system's, both in groups, and a lower number stated."""
    cluster = Cluster(cpu=str(len(running)))
    for index, (priority, states) in enumerate([*running, coming]):
        name, new = f"p{index}", index == len(running)
        size = str(len(running)) if new else "1"
        where = {"node": "" if new else "n1", "cpu": size, "priority": priority}
        if states is None:
            cluster.create(single(name, namespace=f"t{index}", **where))
        else:
            cluster.group("g", 1, namespace=f"t{index}", priority=str(states))
            cluster.create(member(name, namespace=f"t{index}", group="g", **where))
    cluster.run()

    def may_go(priority, states):
        if priority != coming[0]:
            return priority < coming[0]
        both = states is not None and coming[1] is not None
        return both and states < coming[1] and priority < 2_000_000_000

    wanted = all(may_go(*each) for each in running)
    assert sorted(cluster.evicted) == (
        [f"t{index}/p{index}" for index in range(len(running))] if wanted else []
    )
