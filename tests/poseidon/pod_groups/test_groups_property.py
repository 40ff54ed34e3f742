"""Any order and repetition of pods and objects leads where a look at the latest of each would lead."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from poseidon.pod_groups.group_names import POD_GROUP
from poseidon.pod_groups.groups import Groups
from poseidon.pod_groups.statuses import phase_of
from tests.poseidon.pod_groups.objects import pod, pod_group

NAMES = ("a", "b", "c", "d")
GROUPS = ("g", "h")
PHASES = ("Pending", "Placed", "Running", "Succeeded", "Failed")

pods = st.tuples(
    st.just("pod"), st.sampled_from(NAMES), st.sampled_from(("", *GROUPS)), st.sampled_from(PHASES)
)
ends = st.tuples(st.just("gone"), st.sampled_from(NAMES))
made = st.tuples(st.just("group"), st.sampled_from(GROUPS), st.sampled_from((0, 1, 2, 3)))
lost = st.tuples(st.just("lost"), st.sampled_from(GROUPS))


@given(st.lists(st.one_of(pods, ends, made, lost), max_size=30))
def test_groups_agree_with_a_recount(steps):
    groups, latest, needs = Groups(), {}, {}
    told = {}
    for step in steps:
        match step:
            case "pod", name, group, phase:
                latest[name] = (group, phase)
                node = "" if phase == "Pending" else "n1"
                shown = "Pending" if phase == "Placed" else phase
                groups.put_pod(f"pod-{name}", pod(name, group=group, node=node, phase=shown))
            case "gone", name:
                latest.pop(name, None)
                groups.remove_pod(f"pod-{name}")
            case "group", name, members:
                needs[name] = members
                groups.put_source(POD_GROUP, f"uid-{name}", pod_group(name, members))
            case "lost", name:
                needs.pop(name, None)
                groups.remove_source(f"uid-{name}")
        for change in groups.take_changes():
            told[change.job.id] = change.job
    found = {each.member.source.name: each for each in groups}
    assert set(found) == {group for group, _ in latest.values() if group}
    for name, group in found.items():
        members = {f"pod-{each}": phase for each, (own, phase) in latest.items() if own == name}
        assert set(group.progress) == set(members)
        counts = Counter(members.values())
        job = groups.job(group)
        need = needs.get(name)
        held = need is None or need < 1
        assert bool(groups.waits_for(group)) == held
        assert job.min_members == (0 if held else max((need or 0) - counts["Succeeded"], 0))
        if not held:
            assert told[job.id] == job
        assert phase_of(group.counts, need or 0) == slow_phase(list(members.values()), need or 0)


def slow_phase(phases, need):
    done = [each for each in phases if each == "Succeeded"]
    active = [each for each in phases if each in ("Running", "Succeeded")]
    failed = [each for each in phases if each == "Failed"]
    placed = [each for each in phases if each in ("Placed", "Running", "Succeeded")]
    if need < 1:
        return "Pending"
    for phase, reached in (
        ("Finished", len(done) >= need),
        ("Running", len(active) >= need),
        ("Failed", failed and len(active) + len(failed) >= need),
        ("Pending", len(phases) < need),
        ("Scheduled", len(placed) >= need),
    ):
        if reached:
            return phase
    return "Scheduling"
