"""Gangs in the forms of other schedulers in a bridge that follows objects as they come and go."""

from __future__ import annotations

from msgspec.structs import replace

from poseidon.kube.api import kinds
from poseidon.kube.api.metadata import ObjectMeta
from poseidon.kube.api.nodes import PriorityClass
from poseidon.kube.api.pod_groups import PodGroupSpec, SigsPodGroup, VolcanoPodGroup, VolcanoPodGroupSpec
from poseidon.kube.api.resource import Change
from poseidon.lifecycle.actions import AnnounceGroup
from poseidon.pod_groups.group_names import POD_GROUP, SIGS_POD_GROUP, VOLCANO_POD_GROUP
from tests.poseidon.bridge import objects
from tests.poseidon.bridge.objects import gone, present
from tests.poseidon.bridge.test_state import Harness
from tests.poseidon.pod_groups.objects import pod_group

KOORDINATOR = "gang.scheduling.koordinator.sh"


def pod(name, *, labels=None, annotations=None, **more):
    made = objects.pod(name, **more)
    metadata = replace(made.metadata, labels=labels or {}, annotations=annotations or {})
    return replace(made, metadata=metadata)


class Scene(Harness):
    def sigs(self, name, least, groups="", there=True):
        annotations = {f"{KOORDINATOR}/groups": groups} if groups else {}
        found = SigsPodGroup(
            metadata=ObjectMeta(name=name, namespace="default", annotations=annotations),
            spec=PodGroupSpec(min_member=least),
        )
        self.state.gangs.get_handler(SIGS_POD_GROUP)([Change(f"sigs-{name}", found if there else None)])
        return self.sync()

    def volcano(self, name, **spec):
        found = VolcanoPodGroup(
            metadata=ObjectMeta(name=name, namespace="default"), spec=VolcanoPodGroupSpec(**spec)
        )
        self.state.gangs.get_handler(VOLCANO_POD_GROUP)([Change(f"volcano-{name}", found)])
        return self.sync()

    def said(self):
        actions = self.state.take_actions()
        return [
            (each.group.kind, each.reason, each.message)
            for each in actions
            if isinstance(each, AnnounceGroup)
        ]

    def stated(self, uid):
        record = self.state.tasks.get(uid)
        assert record is not None
        return record.task.group_priority

    def jobs(self):
        return {uid.removeprefix("pod-"): task.job for uid, task in self.view.tasks.items()}


def volcano_pod(name, task="", **more):
    annotations = {"scheduling.k8s.io/group-name": "train"}
    return pod(name, annotations=annotations | ({"volcano.sh/task-spec": task} if task else {}), **more)


def test_objects_that_bundle_gangs_later_move_their_pods_together_and_apart():
    scene = Scene()
    labels = {name: {"pod-group.scheduling.sigs.k8s.io": name} for name in "ab"}
    scene.pods(*(present(pod(f"{name}{at}", labels=labels[name])) for name in "ab" for at in range(2)))
    assert scene.view.tasks == {}
    for name in "ab":
        scene.sigs(name, 2)
    assert set(scene.jobs().values()) == {
        "scheduling.sigs.k8s.io/PodGroup/default/a",
        "scheduling.sigs.k8s.io/PodGroup/default/b",
    }
    both = '["default/a", "default/b"]'
    for name in "ab":
        scene.sigs(name, 2, both)
    [job] = set(scene.jobs().values())
    assert scene.view.jobs[job].min_members == 4
    scene.sigs("a", 3, both)
    assert scene.jobs() == {}
    assert "gang default/a has 2 of 3" in scene.state.list_held()["pod-a0"]
    for name in "ab":
        scene.sigs(name, 2)
    assert len(set(scene.jobs().values())) == 2
    scene.sigs("a", 2, there=False)
    assert "does not exist" in scene.state.list_held()["pod-a0"]
    assert "pod-b0" not in scene.state.list_held()


def test_tasks_beyond_the_need_follow_once_the_others_have_nodes():
    scene = Scene()
    scene.volcano("train", min_member=2, min_task_member={"ps": 1, "worker": 1})
    scene.pods(
        present(volcano_pod("w0", "worker")),
        present(volcano_pod("w1", "worker")),
        present(volcano_pod("p", "ps")),
    )
    assert scene.jobs().keys() == {"w0", "p"}
    scene.pods(present(volcano_pod("w0", "worker", node="n1")), present(volcano_pod("p", "ps", node="n1")))
    assert scene.jobs().keys() == {"w0", "p", "w1"}
    scene.pods(gone(volcano_pod("p", "ps")))
    assert "task ps has 0 of 1" in scene.state.list_held()["pod-w1"]
    scene.pods(present(volcano_pod("p2", "ps")))
    assert scene.jobs().keys() == {"w0", "p2"}
    assert scene.view.jobs["scheduling.volcano.sh/PodGroup/default/train"].min_members == 2


def test_what_is_not_honoured_is_said_once_on_the_object_or_on_a_pod():
    scene = Scene()
    scene.volcano("train", min_member=2, queue="gold")
    scene.pods(present(volcano_pod("a")), present(volcano_pod("b")))
    message = "spec.queue 'gold': is not honoured; annotate the pods with scheduling.volcano.sh/queue-name"
    assert scene.said() == [("PodGroup", "NotHonoured", message)]
    annotations = {f"{KOORDINATOR}/{key}": text for key, text in
                   {"name": "q", "min-available": "2", "mode": "Loose"}.items()}  # fmt: skip
    scene.pods(present(pod("c", annotations=annotations)), present(pod("d", annotations=annotations)))
    [(kind, reason, message)] = scene.said()
    assert (kind, reason) == ("Pod", "NotHonoured")
    assert message == f"annotation {KOORDINATOR}/mode: 'Loose' is no mode, and counts as Strict"
    scene.pods(present(pod("0-first", annotations=annotations)), gone(pod("c", annotations=annotations)))
    assert scene.said() == [], "whichever pod is the first now"
    scene.pods(*(gone(pod(name, annotations=annotations)) for name in ("0-first", "d")))
    scene.pods(present(pod("e", annotations=annotations)))
    assert [kind for kind, *_ in scene.said()] == ["Pod"], "another gang of that name"


def test_the_least_resources_reach_the_solver_less_those_of_pods_that_are_done():
    scene = Scene()
    scene.volcano("train", min_member=2, min_resources={"cpu": "4", "example.com/gpu": 2})
    scene.pods(present(volcano_pod("a")), present(volcano_pod("b")))
    job = scene.view.jobs["scheduling.volcano.sh/PodGroup/default/train"]
    assert [(each.resource, each.amount) for each in job.least_room] == [
        ("cpu", 4000),
        ("example.com/gpu", 2),
    ]
    scene.pods(present(volcano_pod("a", node="n1", phase="Succeeded")))
    job = scene.view.jobs["scheduling.volcano.sh/PodGroup/default/train"]
    assert (job.min_members, [each.amount for each in job.least_room]) == (1, [2000, 1])


def test_a_priority_class_that_comes_later_counts():
    scene = Scene()
    scene.volcano("train", min_member=2, priority_class_name="high")
    scene.pods(present(volcano_pod("a")))
    assert scene.stated("pod-a") is None
    assert "no PriorityClass 'high'" in scene.said()[0][2]
    scene.state.handlers[kinds.PRIORITY_CLASS](
        [Change("c", PriorityClass(metadata=ObjectMeta(name="high"), value=7))]
    )
    assert scene.stated("pod-a") == 7


def test_pods_of_another_scheduler_are_named_until_they_are_ours_or_gone():
    scene = Scene()
    labels = {"scheduling.x-k8s.io/pod-group": "train"}
    scene.state.gangs.get_handler(POD_GROUP)([Change("g", pod_group("train", 2))])
    foreign = pod("b", labels=labels, scheduler="default-scheduler")
    scene.pods(present(pod("a", labels=labels)), present(foreign))
    assert scene.state.list_held()["pod-a"] == (
        "gang default/train waits for members: 1 of 2 are for this scheduler, and default/b (default-scheduler) "
        "is for another; give all of them one spec.schedulerName"
    )
    scene.pods(gone(foreign))
    assert scene.jobs().keys() == {"a"}
    scene.pods(present(foreign))
    assert scene.jobs().keys() == set()
    scene.pods(present(pod("c", labels=labels)))
    assert scene.jobs().keys() == {"a", "c"}


def test_nothing_is_kept_of_gangs_that_are_gone():
    scene = Scene()
    gangs = '["default/a", "default/b"]'
    annotations = {
        f"{KOORDINATOR}/name": "a",
        f"{KOORDINATOR}/min-available": "1",
        f"{KOORDINATOR}/groups": gangs,
    }
    made = [
        pod("x", annotations=annotations),
        volcano_pod("y", "ps"),
        pod("z", annotations=annotations, scheduler="o"),
    ]
    scene.pods(*map(present, made))
    scene.pods(*map(gone, made))
    groups = scene.state.groups
    assert list(groups) == []
    assert not any((groups._of_source, groups._gang_pods, groups._of_job, groups._of_pod))


def test_gangs_that_only_their_pods_describe_go_together_by_what_each_states():
    scene = Scene()

    def put(gang, count, least):
        annotations = {"name": gang, "min-available": least, "groups": '["default/a", "default/b"]'}
        named = {f"{KOORDINATOR}/{key}": text for key, text in annotations.items()}
        scene.pods(*(present(pod(f"{gang}{at}", annotations=named)) for at in range(count)))

    put("a", 2, "2")
    assert scene.jobs() == {}
    put("b", 3, "3")
    [job] = set(scene.jobs().values())
    assert scene.jobs().keys() == {"a0", "a1", "b0", "b1", "b2"}
    assert scene.view.jobs[job].min_members == 5
    assert not scene.view.jobs[job].disrupted_whole
