"""Classes that are confined to a few machines, by name or by where their volumes are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from firmament.core.events import ClassDefined, MachineRemoved
from firmament.core.filters.root_causes import make_root_causes
from firmament.core.filters.static_rows import StaticRows
from firmament.core.intake.events import apply_events
from firmament.core.model import NodeSelectorTerm, Requirement, TaskClass, VolumeRule
from firmament.core.reasons import Cause, Reason
from firmament.core.rules.node_name import list_pin_refusals, list_pinned_rows
from firmament.core.rules.registry import default_rules
from firmament.core.selectors.label_columns import HOSTNAME
from firmament.core.state.cluster import Cluster
from tests.support.core import machine, messages, placed, scheduler, task_class, tasks


def on_hosts(*names: str) -> VolumeRule:
    return VolumeRule((NodeSelectorTerm((Requirement(HOSTNAME, "In", names),)),))


def named(*names: str) -> tuple[NodeSelectorTerm, ...]:
    return (NodeSelectorTerm(fields=(Requirement("metadata.name", "In", names),)),)


def cluster(content: TaskClass) -> Cluster:
    """Machines m0 to m3, whose host is called h0 to h3, and one class."""
    made = Cluster()
    hosts = [machine(f"m{index}", labels={HOSTNAME: f"h{index}"}) for index in range(4)]
    apply_events(made, [*hosts, ClassDefined(1, content)], 0.0)
    return made


PINS: dict[str, tuple[TaskClass, list[int] | None, Reason]] = {
    "none": (task_class(), None, Reason.NOT_NAMED),
    "a machine": (task_class(machine="m2"), [2], Reason.WRONG_NAME),
    "an unknown machine": (task_class(machine="mx"), [], Reason.WRONG_NAME),
    "names": (task_class(required=named("m3", "m0")), [0, 3], Reason.NOT_NAMED),
    "a machine among names": (task_class(required=named("m3", "m0"), machine="m0"), [0], Reason.WRONG_NAME),
    "a machine beside names": (task_class(required=named("m3"), machine="m0"), [], Reason.WRONG_NAME),
    "a volume": (task_class(volumes=(on_hosts("h3", "h1", "hx"),)), [1, 3], Reason.WRONG_VOLUMES),
    "two volumes": (
        task_class(volumes=(on_hosts("h3", "h1"), on_hosts("h3", "h0"))),
        [3],
        Reason.WRONG_VOLUMES,
    ),
    "volumes apart": (task_class(volumes=(on_hosts("h1"), on_hosts("h0"))), [], Reason.WRONG_VOLUMES),
}


@pytest.mark.parametrize(("content", "expected", "reason"), PINS.values(), ids=PINS)
def test_machines_that_a_class_is_confined_to(content: TaskClass, expected: list[int] | None, reason: Reason):
    made = cluster(content)
    found = list_pinned_rows(made, 0)
    assert (None if found is None else found.tolist()) == expected
    static = StaticRows(made.machines, made.classes.shapes, default_rules()).get(0)
    causes = make_root_causes(4, [*list_pin_refusals(made, 0), *static.refusals()])
    open_to = range(4) if expected is None else expected
    refused = [index for index in range(4) if index not in open_to]
    assert [causes.list_causes(index) for index in range(4) if index in refused] == [(Cause(reason),)] * len(
        refused
    )
    assert causes.find_refused().nonzero()[0].tolist() == refused


def test_names_go_before_volumes():
    made = cluster(task_class(volumes=(on_hosts("h3", "h1"),), required=named("m1", "m2")))
    causes = make_root_causes(4, list_pin_refusals(made, 0))
    assert [causes.list_causes(index) for index in range(4)] == [
        (Cause(Reason.NOT_NAMED),),
        (),
        (Cause(Reason.WRONG_VOLUMES),),
        (Cause(Reason.NOT_NAMED),),
    ]


def test_pins_follow_machines():
    made = cluster(task_class(volumes=(on_hosts("h3", "h1"),)))
    apply_events(made, [MachineRemoved("m0")], 0.0)  # the last one takes its row

    def rows() -> Sequence[int]:
        found = list_pinned_rows(made, 0)
        assert found is not None
        return [made.machines.row_of[made.machines.names[row]] for row in found.tolist()]

    assert rows() == sorted(made.machines.row_of[name] for name in ("m1", "m3"))
    apply_events(made, [machine("m2", labels={HOSTNAME: "h1"})], 0.0)
    assert rows() == [0, 1, 2]
    apply_events(made, [machine("m3")], 0.0)
    assert rows() == [1, 2]


def test_pods_go_where_their_volumes_are_and_say_so_if_they_cannot():
    core = scheduler(
        *(machine(f"m{index}", labels={HOSTNAME: f"h{index}"}) for index in range(3)),
        tasks(1, "one", content=task_class(volumes=(on_hosts("h1"),))),
        tasks(2, "two", content=task_class(volumes=(on_hosts("h2"),))),
        tasks(3, "huge", content=task_class(cpu=5000, volumes=(on_hosts("h0"),))),
        tasks(4, "lost", content=task_class(volumes=(on_hosts("h9"),))),
    )
    result = core.run_round()
    assert placed(result) == {"one": "m1", "two": "m2"}
    assert messages(result) == {
        "huge": "0/3 nodes are available: 3 Insufficient cpu.",
        "lost": f"0/3 nodes are available: 3 {Reason.WRONG_VOLUMES.value}.",
    }
