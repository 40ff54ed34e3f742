"""Topology groups with both processes: whatever happens in between, all is as the rule for gangs says in the end."""

from __future__ import annotations

import asyncio
import signal

import pytest

from poseidon.testbed.api_server.faults import Fault
from tests.poseidon.group_trees.stage import stage
from tests.programs.end_to_end.scene import SECONDS
from tests.support.time_limits import stretch
from tests.support.waiting import until

PACKED = {"rack": {"type": "pack", "hard": True}}


async def test_from_pods_without_a_group_to_one_that_is_bound_and_written(tmp_path):
    async with stage(tmp_path) as on:
        on.pods("train", *range(6))
        await until(lambda: on.scene.events("FailedScheduling")["train-0"], within=SECONDS)
        assert on.where("train") == {}
        on.group("train", 6, {"rack": {"type": "pack"}, "node": {"type": "spread"}})
        await on.until(lambda: on.status("train") == "Bound", "the group is bound")
        [(rack, placed)] = on.placement("train").items()
        first = 0 if rack == "rack-0" else 2
        assert placed == {
            first: ["train-0", "train-1", "train-2"],
            first + 1: ["train-3", "train-4", "train-5"],
        }
        assert on.data("train")["rank"] == (
            "[(train-0,0) (train-1,1) (train-2,2) (train-3,3) (train-4,4) (train-5,5)]"
        )
        expected = {f"train-{index}": (str(index), "Bound", "1") for index in range(6)}
        await on.until(lambda: on.labels("train") == expected, "ranks are written")
        assert int(on.data("train")["schedTotalTimeMilli"]) < 60_000
        assert on.scene.patches["/api/v1/namespaces/default/configmaps/train"] <= 3
        assert all(on.scene.patches[f"/api/v1/namespaces/default/pods/train-{i}"] <= 2 for i in range(6))

        # A pod more than the size waits; a larger size lets it in, where the others are.
        on.pods("train", 6)
        await until(lambda: on.scene.events("FailedScheduling")["train-6"], within=SECONDS)
        on.group("train", 7, {"rack": {"type": "pack"}, "node": {"type": "spread"}})
        await on.until(lambda: "train-6" in on.where("train"))
        assert on.where("train")["train-6"] in (first, first + 1)
        await on.until(lambda: on.labels("train")["train-6"][0] == "6")

        # So is one that replaces another.
        on.delete("train-2")
        await on.until(lambda: "train-2" not in on.labels("train"))
        on.pods("train", 9)
        await on.until(lambda: on.labels("train").get("train-9", ("",))[0] == "2", "it gets the rank")
        assert set(on.where("train").values()) == {first, first + 1}

        # Another bridge finds everything said already.
        await on.until(lambda: "(train-9,2)" in on.data("train")["rank"])
        data, labels, before = on.data("train"), on.labels("train"), on.scene.patches.copy()
        await on.scene.stack.bridge.stop(SECONDS)
        await on.scene.stack.start_bridge()
        on.group("single", 1)
        on.pods("single", 0)
        await on.until(lambda: on.status("single") == "Bound")
        assert (on.data("train"), on.labels("train")) == (data, labels)
        assert {path for path in on.scene.patches - before if "train" in path} == set()
        on.scene.check_sound()


async def test_a_node_outside_the_tree_and_a_tree_that_is_edited(tmp_path):
    async with stage(tmp_path, (1, 1, 1), tree=False) as on:
        zero, one, two = on.nodes
        on.tree({"rack-0": [zero], "rack-1": [one]})
        on.group("train", 5, {"rack": {"type": "spread", "partitions": 3}})
        on.pods("train", *range(5))
        await on.until(
            lambda: "level rack" in on.message("train"), "it says which level, and what is lacking"
        )
        assert on.where("train") == {}
        on.tree("{")
        await on.until(lambda: "stays in force" in on.message("tree"))
        await on.until(lambda: on.scene.events("InvalidTopology") == {"tree": 1})
        on.tree({"rack-0": [zero], "rack-1": [one], "rack-2": [two]})
        await on.until(lambda: on.status("train") == "Bound", "the group is placed by the new tree")
        assert sorted(on.used("train").values()) == [1, 2, 2]
        await on.until(lambda: on.message("tree") == on.message("train") == "")
        assert set(on.placement("train")) == {"rack-0", "rack-1", "rack-2"}

        # One more node, which is in no rack: it is not for groups.
        [extra] = await on.scene.nodes(1, prefix="extra")
        on.group("tune", 8)
        on.pods("tune", *range(8))
        await until(lambda: on.scene.events("FailedScheduling")["tune-0"], within=SECONDS)
        assert on.status("tune") != "Bound"
        on.tree({"rack-0": [zero], "rack-1": [one], "rack-2": [two], "rack-3": [extra]})
        await on.until(lambda: on.status("tune") == "Bound")


async def test_two_gangs_race_for_the_last_rack(tmp_path):
    async with stage(tmp_path) as on:
        on.fill(n0=3, n1=3)
        on.group("red", 8, PACKED)
        on.group("blue", 8, PACKED)
        for index in range(8):
            on.pods("red", index)
            on.pods("blue", index)
        await on.until(lambda: sorted((on.status("red"), on.status("blue"))) == ["Bound", "Ready"])
        winner, loser = ("red", "blue") if on.status("red") == "Bound" else ("blue", "red")
        assert on.used(winner) == {2: 4, 3: 4}
        assert on.where(loser) == {}
        await on.until(lambda: "2 of 8 pods fit" in on.message(loser), "the other one says what is lacking")
        on.delete(*(f"{winner}-{index}" for index in range(8)))
        await on.until(lambda: on.status(loser) == "Bound", "the other one follows")
        assert on.used(loser) == {2: 4, 3: 4}
        on.scene.check_sound()


async def test_preempted_and_back_again(tmp_path):
    async with stage(tmp_path, (2, 2)) as on:
        on.group("low", 6, priority="0")
        on.pods("low", *range(6), stop="5", terminationGracePeriodSeconds=30)
        await on.until(lambda: on.status("low") == "Bound")
        on.group("middle", 6, priority="1")
        on.pods("middle", *range(6), stop="5", terminationGracePeriodSeconds=30)
        await on.until(lambda: on.status("middle") == "Bound")
        running = on.where("middle")
        on.group("high", 6, priority="3")
        on.pods("high", *range(6))
        await on.until(lambda: on.status("high") == "Preempting", "it waits for the others to go")
        await on.until(lambda: on.status("low") == "Preempted")
        assert on.data("low")["preemptor"] == "default/high"
        on.pods("low", *range(10, 16))
        on.now = 10.0
        await on.until(lambda: on.status("high") == "Bound")
        assert on.where("middle") == running, "the other gang is untouched"
        await on.until(lambda: "preemptor" not in on.data("low"))
        assert on.where("low") == {}
        on.delete(*(f"middle-{index}" for index in range(6)))
        await on.until(
            lambda: not any(each.startswith("middle") for each in on.labels("")) or on.advance(5.0)
        )
        await on.until(lambda: on.status("low") == "Bound", "it returns")
        assert set(on.where("low")) == {f"low-{index}" for index in range(10, 16)}
        on.scene.check_sound()


@pytest.mark.parametrize("killed", ["bridge", "solver"])
async def test_a_process_dies_between_assume_and_bind(tmp_path, killed):
    async with stage(tmp_path, own_solver=killed == "solver") as on:
        s = on.scene
        on.group("train", 8, PACKED)
        held = s.cluster.faults.add(Fault(".*/pods/train-[0-4]/binding", "POST", hold=True))
        on.pods("train", *range(8))
        await on.until(lambda: len(on.where("train")) == 3, "some are bound")
        child = s.stack.bridge if killed == "bridge" else s.stack.solver
        child.signal(signal.SIGKILL)
        await asyncio.wait_for(child.wait(), stretch(SECONDS))
        held.release()
        await (s.stack.start_bridge() if killed == "bridge" else s.stack.start_solver())
        await on.until(lambda: on.status("train") == "Bound", "the group is whole")
        assert sorted(on.used("train").values()) == [4, 4]
        assert len(on.placement("train")) == 1, "in one rack"
        await on.until(lambda: {each[0] for each in on.labels("train").values()} == set(map(str, range(8))))
        s.check_sound()


async def test_bad_groups_are_told_and_hold_up_nobody(tmp_path):
    async with stage(tmp_path) as on:
        on.map("broken", "sakkara.group", name="broken", size="2", constraints='{"rack": ')
        on.group("range", 2, {"node": {"min": 3, "max": 2}})
        on.group("none", 0)
        on.group("odd", 6, {"node": {"factor": 4}})
        on.group("wide", 6, {"rack": {"partitions": 3}})
        on.group("unlike", 2)
        on.group("good", 2)
        for name, size in (("broken", 2), ("range", 2), ("none", 1), ("odd", 6), ("wide", 6), ("good", 2)):
            on.pods(name, *range(size))
        on.pods("unlike", 0)
        on.pods("unlike", 1, cpu="2")
        await on.until(lambda: on.status("good") == "Bound", "the others go on")
        parts = {
            "broken": "data.constraints: is not JSON",
            "range": "data.constraints.node.min: 3 is more than max, 2",
            "none": "data.size: 0 is out of range",
            "odd": "data.constraints.node.factor: 6 pods are no multiple of 4",
            "wide": "level rack",
            "unlike": "request",
        }
        for name, part in parts.items():
            await on.until(lambda name=name, part=part: part in on.message(name), f"{name} is told")
            assert on.where(name) == {}
        await until(
            lambda: on.scene.events("InvalidGroup") == dict.fromkeys(("broken", "range", "none", "odd"), 1)
        )
