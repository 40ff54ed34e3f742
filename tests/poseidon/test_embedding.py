"""The solver in this process: what it is told, asked and tried, and what it says."""

from __future__ import annotations

import pytest

from poseidon.embedding import (
    EmbeddedScheduler,
    EmbeddedTrials,
    check_configuration,
    configuration_schema,
    load_configuration,
    replay_round_flow,
)
from protos.configuration.file import ConfigurationError
from protos.configuration.sections import API_VERSION, KIND
from protos.firmament.v1 import scheduler_pb2 as pb

CPU = 1_000


def configuration(**parts):
    return check_configuration({"apiVersion": API_VERSION, "kind": KIND, **parts}, "config", {})


def amounts(cores: float) -> list[pb.Quantity]:
    pods = pb.Quantity(resource="pods", amount=100)
    return [pb.Quantity(resource="cpu", amount=round(cores * CPU)), pods]


def machine(name: str, cores: float = 4) -> pb.Event:
    return pb.Event(machine=pb.Machine(name=name, allocatable=amounts(cores)))


def task_class(number: int, cores: float = 1) -> pb.Event:
    requests = [pb.Quantity(resource="cpu", amount=round(cores * CPU))]
    return pb.Event(task_class=pb.TaskClass(id=number, requests=requests))


def waiting(number: int, *uids: str, **more) -> pb.Event:
    return pb.Event(tasks=pb.TaskBatch(task_class=number, uids=uids, names=uids, **more))


def bound(number: int, name: str, *uids: str) -> pb.Event:
    return pb.Event(bound=pb.BoundTasks(task_class=number, machine=name, uids=uids))


@pytest.fixture
def scheduler() -> EmbeddedScheduler:
    return EmbeddedScheduler(load_configuration(None), lambda: 1000.0)


def placed(result: pb.RoundResult) -> dict[str, str]:
    return {each.task: each.machine for each in result.deltas}


# --- configuration ----------------------------------------------------------------------------------------------------


def test_both_parts_of_a_configuration_are_checked():
    assert configuration(queues={"source": "kueue"}).queues.source
    with pytest.raises(ConfigurationError, match="polcy"):
        configuration(polcy=1)
    with pytest.raises(ConfigurationError, match=r"costModels\[0\]"):
        configuration(costModels=[{"name": "load_spreading", "args": {"nonsense": 1}}])
    with pytest.raises(ConfigurationError, match="unknown_model"):
        configuration(costModels=[{"name": "unknown_model"}])


def test_the_schema_holds_the_settings_of_both_programs():
    settings = configuration_schema()["properties"]
    assert {"costModels", "policy", "queues", "round"} <= settings.keys()


# --- rounds -----------------------------------------------------------------------------------------------------------


def test_a_round_places_what_fits_and_assumes_it_until_told(scheduler):
    assert not scheduler.has_work()
    assert scheduler.next_round_in() is None
    scheduler.apply([machine("m", 2), task_class(1), waiting(1, "a", "b", "c")])
    assert scheduler.has_work()
    assert scheduler.next_round_in() == 0.0
    called = []
    result = scheduler.run_round(meanwhile=lambda: called.append(1))
    assert called == [1]
    assert len(placed(result)) == 2
    assert {each.uid: each.machine for each in scheduler.tasks() if each.machine} == placed(result)
    [known] = scheduler.machines()
    assert (known.name, len([*scheduler.tasks()])) == ("m", 3)
    first, second = sorted(placed(result))
    scheduler.report([pb.BindingReport(task=first, machine="m", bound=True)])
    scheduler.report([pb.BindingReport(task=second, machine="m", bound=False, reason="refused")])
    assert [each.uid for each in scheduler.tasks() if each.machine] == [first]


def test_a_simulated_round_does_not_say_why_tasks_wait():
    said = []
    for simulated in (False, True):
        made = EmbeddedScheduler(load_configuration(None), lambda: 0.0, simulated=simulated)
        made.apply([machine("m", 1), task_class(1, cores=2), waiting(1, "a")])
        said.append([each.message for each in made.run_round().unscheduled])
    [why] = said[0]
    assert why.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert not any(said[1])


def test_remarks_of_models_on_bad_input_are_kept_each_once():
    model = [{"name": "network_overhead"}]
    scheduler = EmbeddedScheduler(configuration(costModels=model), lambda: 0.0)
    key = pb.RecordKey(kind="AppGroup", name="shop/web")
    scheduler.apply([machine("m"), task_class(1), pb.Event(record=pb.Record(key=key, payload=b"[]"))])
    for uid in ("a", "b"):
        scheduler.apply([waiting(1, uid)])
        scheduler.run_round()
    [remark] = scheduler.notes
    assert "shop/web" in remark


def test_refused_events_are_listed_and_none_is_applied(scheduler):
    events = [machine("m"), machine("bad", -1), machine("n"), machine("worse", -2)]
    refused = scheduler.list_refused(events)
    assert [index for index, _ in refused] == [1, 3]
    assert "bad" in refused[0][1]
    assert [*scheduler.machines()] == []
    with pytest.raises(ValueError, match="bad"):
        scheduler.apply(events)


def test_an_explanation_has_a_verdict_for_each_machine(scheduler):
    scheduler.apply([machine("m"), machine("small", 0.5), task_class(1), waiting(1, "a")])
    said = {each.machine: each.feasible for each in scheduler.explain("a").machines}
    assert said == {"m": True, "small": False}
    with pytest.raises(KeyError):
        scheduler.explain("nobody")


def test_the_flow_and_the_network_are_those_of_rounds_with_tasks(scheduler):
    assert scheduler.round_flow() == pb.RoundFlow()
    with pytest.raises(ValueError, match="no round had anything to place, so there is no network to draw"):
        scheduler.draw_network("x")
    scheduler.apply([machine("m", 1), task_class(1), waiting(1, "a")])
    scheduler.run_round()
    first = scheduler.draw_network("My title")
    assert "My title" in first
    flow = scheduler.round_flow()
    assert flow.round == 1
    assert flow.ended == 1000.0
    scheduler.run_round()  # without tasks
    assert scheduler.round_flow() == flow
    scheduler.apply([machine("n", 1), task_class(2), waiting(2, "b")])
    scheduler.run_round()
    assert scheduler.round_flow().round > 1
    assert scheduler.draw_network("My title") == first


# --- what is measured, and what should move -------------------------------------------------------------------------


def sample(name: str, cores: float) -> pb.Event:
    usage = [pb.Usage(resource="cpu", amount=cores * CPU)]
    return pb.Event(machine_sample=pb.MachineSample(machine=name, usage=usage, time=990.0))


@pytest.mark.parametrize(("limit", "hot"), [(49.0, ["m"]), (50.0, []), (51.0, [])])
def test_a_machine_is_hot_above_its_threshold(limit, hot):
    model = [{"name": "load_threshold"}]
    scheduler = EmbeddedScheduler(configuration(costModels=model), lambda: 1000.0)
    scheduler.apply([machine("m", 4), machine("n", 4), sample("m", 2), sample("n", 1)])
    found = [*scheduler.iter_hot({"cpu": limit, "unknown": 0.0})]
    assert [name for name, _, _ in found] == hot
    assert all((resource, percent) == ("cpu", 50.0) for _, resource, percent in found)


def test_broken_rules_are_those_of_tasks_that_run(scheduler):
    selector = pb.TaskClass(id=1, requests=[pb.Quantity(resource="cpu", amount=CPU)])
    selector.node_selector["disk"] = "ssd"
    scheduler.apply([machine("m"), pb.Event(task_class=selector), bound(1, "m", "a"), waiting(1, "b")])
    [(uid, name, reason)] = scheduler.iter_broken_rules()
    assert (uid, name) == ("a", "m")
    assert reason


# --- trials -----------------------------------------------------------------------------------------------------------


def trials(*events, goes=(), placed=None) -> EmbeddedTrials:
    return EmbeddedTrials(load_configuration(None), lambda: 1000.0, events, goes, placed)


SPREAD = (machine("m"), machine("n"), task_class(1), bound(1, "m", "a"), bound(1, "n", "b"))


@pytest.mark.parametrize(("budget", "freed"), [(None, 1), (1, 1), (0, 0)])
def test_machines_are_emptied_within_the_budget_of_moves(budget, freed):
    counted = list[int]()
    found = trials(*SPREAD).consolidate({"m", "n"}, 10, budget, counted.append)
    assert (len(found.machines), len(found.moves)) == (freed, freed)
    assert counted or not budget


def test_tasks_that_end_with_their_machine_need_no_move():
    found = trials(*SPREAD, goes={"a", "b"}).consolidate({"m", "n"}, 10, None)
    assert len(found.machines) == 2
    assert not found.moves


def test_tasks_that_count_as_placed_keep_their_machine():
    events = (machine("m"), machine("n"), task_class(1), waiting(1, "a", "b", "c"))
    made = trials(*events, placed={"a": "m", "b": "n"})
    assert {each.uid: each.machine for each in made._scheduler.task_states() if each.machine} == {
        "a": "m",
        "b": "n",
    }
    found = made.consolidate({"m", "n"}, 10, None)
    assert len(found.machines) <= 1


def test_cures_are_sought_for_tasks_that_wait():
    events = (machine("m", 1), task_class(1, cores=2), waiting(1, "a"))
    found = trials(*events).cures(["a"], 20, 3)
    assert found.keys() == {"a"}
    assert found["a"][0].machine == "m"
    assert trials(machine("m"), task_class(1), waiting(1, "a")).find_room(["a"], 5) is not None


def test_a_saved_round_that_cannot_be_read_is_refused():
    with pytest.raises(ValueError, match="round"):
        replay_round_flow({})
