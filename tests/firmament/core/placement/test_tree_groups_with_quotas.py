"""Trees of groups that draw on quotas, and their place among more and less important tasks."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from firmament.core.events import ClassDefined, Event, JobDefined, TasksSubmitted
from firmament.core.model import Job, JobGroup, TaskClass
from firmament.core.results import RoundResult
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, messages, placed, scheduler, task_class

RACK = "rack"


def rack(number: int, *, cpu: int, nodes: int = 2) -> list[Event]:
    """Machines of one rack."""
    return [machine(f"r{number}-{node}", cpu=cpu, labels={RACK: f"r{number}"}) for node in range(nodes)]


def group(
    number: int, name: str, pods: int, *, cpu: int = 1000, priority: int = 0, queue: str = "", least: int = 0
) -> list[Event]:
    """A gang whose tasks go to one rack."""
    content = TaskClass(requests=(("cpu", cpu),), group="all", queue=queue)
    job = Job(
        name, name=name, min_members=least or pods, groups=(JobGroup("all", least=pods, within=(RACK,)),)
    )
    uids = tuple(f"{name}-{pod}" for pod in range(pods))
    return [
        ClassDefined(number, content),
        JobDefined(job),
        TasksSubmitted(number, uids, priority=priority, job=name),
    ]


def plain(number: int, *uids: str, cpu: int, priority: int = 0) -> list[Event]:
    """Tasks of no group."""
    return [ClassDefined(number, task_class(cpu)), TasksSubmitted(number, uids, priority=priority)]


def jobs(*events: Sequence[Event]) -> tuple[list[str], RoundResult]:
    """The jobs of which a round places tasks."""
    result = scheduler(*events).run_round()
    return sorted({uid.rpartition("-")[0] or uid for uid in placed(result)}), result


class TestQuotas:
    def test_a_group_for_which_too_little_quota_is_left_is_told_so(self):
        found, result = jobs(
            rack(0, cpu=9000),
            [flavor("any"), quota("team", {"any": {"cpu": 2000}})],
            group(1, "g", 3, queue="team"),
        )
        assert found == []
        assert "quota is left for 2 of its 3 pods" in messages(result)["g-0"]

    @pytest.mark.parametrize("left", [3000, 3999])
    def test_enough_quota_is_enough(self, left: int):
        scene = [flavor("any"), quota("team", {"any": {"cpu": left}})]
        assert jobs(rack(0, cpu=9000), scene, group(1, "g", 3, queue="team"))[0] == ["g"]

    def test_the_second_of_two_groups_of_a_queue_finds_what_the_first_left(self):
        scene = [flavor("any"), quota("team", {"any": {"cpu": 5000}})]
        found, result = jobs(
            rack(0, cpu=9000), scene, group(1, "g", 3, queue="team"), group(2, "h", 3, queue="team")
        )
        assert found == ["g"]
        assert "quota is left for 2 of its 3 pods" in messages(result)["h-0"]

    def test_the_more_important_group_of_a_queue_comes_first(self):
        scene = [flavor("any"), quota("team", {"any": {"cpu": 5000}})]
        older, important = group(1, "g", 3, queue="team"), group(2, "h", 3, queue="team", priority=5)
        assert jobs(rack(0, cpu=9000), scene, older, important)[0] == ["h"]

    def test_queues_that_borrow_give_way_to_queues_within_their_own(self):
        """Group g is older and more important, but its queue has nothing of its own."""
        scene = [
            flavor("any"),
            quota("cohort"),
            quota("poor", {"any": {"cpu": 0}}, parent="cohort"),
            quota("rich", {"any": {"cpu": 3000}}, parent="cohort"),
        ]
        poor, rich = group(1, "g", 3, queue="poor", priority=5), group(2, "h", 3, queue="rich")
        assert jobs(rack(0, cpu=9000), scene, poor, rich)[0] == ["h"]
        assert jobs(rack(0, cpu=9000), scene, poor)[0] == ["g"]

    def test_a_group_that_draws_on_nothing_keeps_its_turn(self):
        """Room for one group: the free one comes before those of the queues that change turns."""
        scene = [
            flavor("any"),
            quota("cohort"),
            quota("poor", {"any": {"cpu": 0}}, parent="cohort"),
            quota("rich", {"any": {"cpu": 3000}}, parent="cohort"),
        ]
        poor, rich = group(1, "g", 3, queue="poor", priority=5), group(2, "h", 3, queue="rich")
        free = group(3, "free", 3, priority=7)
        assert jobs(rack(0, cpu=3000, nodes=1), scene, poor, rich, free)[0] == ["free"]
        late = group(3, "free", 3, priority=-1)
        assert jobs(rack(0, cpu=3000, nodes=1), scene, poor, rich, late)[0] == ["h"]
        between = group(3, "free", 3, priority=3)
        assert jobs(rack(0, cpu=6000, nodes=1), scene, poor, rich, between)[0] == ["free", "h"]


class TestPriorities:
    """One machine of 4 cores in one rack."""

    @pytest.mark.parametrize(
        ("of_group", "of_others", "expected"),
        [(5, 0, ["g"]), (0, 0, ["g"]), (0, 5, ["a", "b", "c"])],
    )
    def test_a_group_comes_before_tasks_that_are_no_more_important(
        self, of_group: int, of_others: int, expected: list[str]
    ):
        found, _ = jobs(
            rack(0, cpu=4000, nodes=1),
            group(1, "g", 2, cpu=2000, priority=of_group),
            plain(2, "a", "b", "c", cpu=1000, priority=of_others),
        )
        assert found == expected

    def test_groups_and_tasks_come_priority_by_priority(self):
        """Tasks of priority 7 leave room for the group of 5, which leaves none for the tasks of 3."""
        found, _ = jobs(
            rack(0, cpu=4000, nodes=1),
            group(1, "g", 2, cpu=1000, priority=5),
            plain(2, "a", "b", cpu=1000, priority=7),
            plain(3, "c", cpu=1000, priority=3),
            group(4, "h", 2, cpu=2000, priority=1),
        )
        assert found == ["a", "b", "g"]

    def test_what_is_left_goes_to_less_important_tasks(self):
        found, _ = jobs(
            rack(0, cpu=4000, nodes=1),
            group(1, "g", 3, cpu=1000, priority=1),
            plain(2, "a", "b", cpu=1000, priority=7),
            plain(3, "c", "d", cpu=1000, priority=0),
        )
        assert found == ["a", "b", "c", "d"]
