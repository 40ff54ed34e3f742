"""Root causes: one per machine, in a fixed order, summed up in kube-scheduler's words."""

from __future__ import annotations

import re

import pytest

from firmament.core.diagnosis.failed_scheduling_message import format_unavailable_nodes
from firmament.core.events import TasksBound
from firmament.core.model import NodeSelectorTerm, Requirement, Taint
from firmament.core.reasons import explain_untolerated, lack_of
from firmament.core.scheduler import Scheduler
from tests.support.core import GIB, machine, messages, placed, scheduler, task_class, tasks

TAINT = Taint("dedicated", "ml", "NoSchedule")
GRAMMAR = re.compile(r"^0/\d+ nodes are available: \d+ [^,.]+(, \d+ [^,.]+)*\.$")


def message(core: Scheduler) -> str:
    """The message of the only task that stays pending in a round."""
    (text,) = messages(core.run_round()).values()
    return text


# --- grammar ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machines", "counts", "text"),
    [
        (0, [], "0/0 nodes are available: no nodes available to schedule pods."),
        (1, [("Insufficient cpu", 1)], "0/1 nodes are available: 1 Insufficient cpu."),
        (
            6,
            [("b", 1), ("c", 2), ("a", 1), ("d", 2)],
            "0/6 nodes are available: 1 a, 1 b, 2 c, 2 d.",
        ),
        (12, [("b", 2), ("a", 10)], "0/12 nodes are available: 10 a, 2 b."),
    ],
)
def test_messages_list_reasons_as_text_figures_first(machines: int, counts: list[tuple[str, int]], text: str):
    assert format_unavailable_nodes(machines, counts) == text


def test_reasons_in_the_words_of_kubernetes():
    assert lack_of("cpu").words == lack_of("cpu").summary == "Insufficient cpu"
    assert lack_of("example.com/device").words == "Insufficient example.com/device"
    assert lack_of("pods").words == "Too many pods"
    assert explain_untolerated(TAINT).words == "node(s) had untolerated taint(s) {dedicated: ml}"
    assert explain_untolerated(TAINT).summary == "node(s) had untolerated taint(s)"


# --- order -----------------------------------------------------------------------------------------------------------


FAULTS: dict[str, tuple[dict[str, object], str]] = {
    "cordoned": ({"cordoned": True}, "node(s) were unschedulable"),
    "tainted": ({"taints": [TAINT]}, "node(s) had untolerated taint(s)"),
    "not ready": ({"not_ready": True}, "node(s) were not ready"),
    "mislabelled": ({"labels": {"zone": "b"}}, "node(s) didn't match Pod's node affinity/selector"),
    "out of pods": ({"pods": 0}, "Too many pods"),
    "out of cpu": ({"cpu": 1}, "Insufficient cpu"),
    "out of memory": ({"memory": 1}, "Insufficient memory"),
}
CONTENT = task_class(cpu=100, memory=GIB, node_selector=(("zone", "a"),))


@pytest.mark.parametrize("first", range(len(FAULTS)), ids=list(FAULTS))
def test_the_first_rule_that_refuses_is_the_root_cause(first: int):
    # The machine has this fault and all that come after it in the order of rules.
    description: dict[str, object] = {"labels": {"zone": "a"}}
    faults = list(FAULTS.values())[first:]
    for fault, _ in faults:
        description |= fault
    core = scheduler(machine("m", **description), tasks(1, "t", content=CONTENT))  # type: ignore[arg-type]
    # Of resources all that lack are told, as kube-scheduler does.
    told = [text for fault, text in faults if set(fault) & {"pods", "cpu", "memory"}]
    listed = ", ".join(f"1 {text}" for text in sorted(told if faults[0][1] in told else [faults[0][1]]))
    assert message(core) == f"0/1 nodes are available: {listed}."


def test_every_machine_has_one_cause_but_for_resources():
    core = scheduler(
        machine("a", labels={"zone": "a"}, cordoned=True, cpu=1),
        machine("b", labels={"zone": "b"}, cpu=1, taints=[TAINT]),
        machine("c", labels={"zone": "c"}, memory=1),
        machine("d", labels={"zone": "a"}, memory=1, cpu=1),
        machine("e", labels={"zone": "a"}, memory=1),
        machine("f", labels={"zone": "a"}, memory=1),
        tasks(1, "t", content=CONTENT),
    )
    text = message(core)
    assert text == (
        "0/6 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, 3 Insufficient memory."
    )
    assert GRAMMAR.match(text)
    assert sum(int(count) for count in re.findall(r"(\d+) [nI]", text.split(":", 1)[1])) == 6 + 1


def test_pins_are_the_cause_before_everything_else():
    core = scheduler(
        machine("a", cordoned=True),
        machine("b", cpu=1),
        machine("c", cpu=1),
        tasks(1, "t", content=task_class(machine="b")),
    )
    assert message(core) == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't match the requested node name."
    )


def test_affinity_and_selector_share_a_cause():
    term = NodeSelectorTerm(labels=(Requirement("disk", "In", ("ssd",)),))
    core = scheduler(
        machine("a", labels={"zone": "a", "disk": "hdd"}),
        machine("b", labels={"zone": "b", "disk": "ssd"}),
        tasks(1, "t", content=task_class(node_selector=(("zone", "a"),), required=(term,))),
    )
    assert message(core) == "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."


def test_causes_describe_the_machines_after_the_round():
    core = scheduler(machine("m", cpu=100), tasks(1, "placed", "left"))
    result = core.run_round()
    assert placed(result) == {"placed": "m"}
    assert messages(result) == {
        "left": "0/1 nodes are available: 1 Insufficient cpu. m had room until placed took it in the same round."
    }
    (group,) = result.unscheduled
    assert group.reasons == (("Insufficient cpu", 1),)


def test_what_is_not_requested_does_not_matter():
    core = scheduler(
        machine("m", cpu=100, memory=1),
        tasks(1, content=task_class(cpu=0, memory=GIB)),
        tasks(2, "t", content=task_class(cpu=100)),
    )
    core.apply([TasksBound("m", 1, ("foreign",))])
    assert next(core.machine_states()).free["memory"] < 0
    assert placed(core.run_round()) == {"t": "m"}


def test_every_task_takes_a_pod():
    core = scheduler(machine("m", pods=2), tasks(1, "a", "b", "c", content=task_class(cpu=0)))
    result = core.run_round()
    assert len(placed(result)) == 2
    (message,) = messages(result).values()
    assert message.startswith("0/1 nodes are available: 1 Too many pods. m had room until ")
