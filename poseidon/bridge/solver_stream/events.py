"""Makes the events for the solver: a snapshot when a stream begins, then only changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from poseidon.app_network.spec.keys import APPLICATION_RECORDS
from poseidon.app_network.state import NetworkState
from poseidon.bridge.queues.queued_pods import move_queued_pods
from poseidon.bridge.solver_stream.refused_events import RefusedEvents
from poseidon.bridge.stores import Stores
from poseidon.kube.quarantine import Attempt
from poseidon.pods.tasks import Task
from protos.firmament.v1 import scheduler_pb2 as pb

_Where: TypeAlias = tuple[str, bool]


class EventStream:
    """A converter of changes in ``stores`` into events, each once per stream."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._sent_classes: set[int] = set()
        self._refused: RefusedEvents | None = (
            None  # None until the solver refuses an event; most solvers never do.
        )

    def snapshot(self) -> Iterator[pb.Event]:
        """Yield the whole state as events, for a solver without any state; later events are changes of this state.

        Pods that are being bound appear as assumed on their nodes.
        """
        stores = self._stores
        for part in (
            stores.machines,
            stores.jobs,
            stores.tasks,
            stores.history,
            stores.samples,
            stores.first_records,
            stores.custom_records,
        ):
            part.forget_sent()
        self._sent_classes.clear()
        stores.pending_bindings.forget_reports()
        return self.take_events()

    def note_refused(self, event: pb.Event, reason: str) -> None:
        """Leave out an event that the solver has refused until the event's object changes."""
        if self._refused is None:
            self._refused = RefusedEvents(self._stores.quarantine)
        self._refused.note(event, reason)

    @property
    def has_news(self) -> bool:
        """Whether ``take_events`` may yield anything. Most changes of a pod are known to the solver already.

        This check takes a fraction of the time that ``take_events`` takes.
        """
        stores = self._stores
        parts = stores.machines, stores.history, stores.first_records, stores.jobs, stores.custom_records
        return (
            any(part.changed for part in parts)
            or stores.tasks.has_news
            or bool(stores.samples.changed or stores.jobs.ended)
            or stores.images.changed
            or stores.classes.names_images
            or stores.classes.may_have_moved
            or stores.classes.has_surplus
            # Stores of this kind know whether they have changed only after their changes have been taken.
            or stores.queues is not None
            or stores.applications is not None
        )

    def take_events(self) -> Iterator[pb.Event]:
        """Yield the new events for the solver, once, in an order in which they can be applied.

        Iterate at once and to the end: nothing may change meanwhile.
        """
        events = self._all_events()
        return iter(self.filter_refused(events))

    def filter_refused(self, events: Iterable[pb.Event]) -> Iterable[pb.Event]:
        """Return events without those that were refused, see ``RefusedEvents``."""
        return events if self._refused is None else self._refused.filter_refused(events)

    def _all_events(self) -> Iterator[pb.Event]:
        stores = self._stores
        self._settle_classes()
        # Mostly, only tasks have changed. If pods come one by one, the steps after this check would cost time for
        # each pod.
        if stores.machines.changed:
            yield from self._events("machines", self._machine_events)
        if stores.history.changed:
            yield from self._events("run times", stores.history.take_events)
        # These records go before the tasks: no round may place a group without its rules, or without labels of
        # namespaces.
        if stores.first_records.changed:
            yield from self._events("records that tasks need", stores.first_records.take_events)
        if stores.jobs.changed:
            yield from self._events("jobs", lambda: (pb.Event(job=job) for job in stores.jobs.take_changed()))
        if stores.tasks.changed:
            yield from self._task_events()
        if stores.applications is not None:
            with self._quarantine_faults("applications"):
                self._set_application_records(stores.applications)
        # These records go after the tasks: a NUMA record's figures include the pods that were on the node when the
        # record came (docs/numa.md).
        if stores.custom_records.changed:
            yield from self._events("records", stores.custom_records.take_events)
        if stores.samples.changed:
            yield from self._events(
                "samples", lambda: stores.samples.take_events(stores.machines.__contains__)
            )
        if stores.jobs.ended:
            ended = stores.jobs.take_ended()
            yield from self._events("ended jobs", lambda: (pb.Event(job_removed=job_id) for job_id in ended))
        if stores.classes.has_surplus:
            yield from self._events("ended classes", self._remove_ended_classes)

    def _settle_classes(self) -> None:
        """Update the classes of pods if anything has changed that decides about classes."""
        stores = self._stores
        if stores.classes.names_images or stores.images.changed:
            with self._quarantine_faults("images"):
                self._weigh_images()
        if stores.queues is not None:
            with self._quarantine_faults("queues"):
                move_queued_pods(stores, stores.queues)
        with self._quarantine_faults("classes"):
            if stores.classes.refresh():
                stores.tasks.mark_moved()

    def _events(self, what: str, take: Callable[[], Iterable[pb.Event]]) -> Iterator[pb.Event]:
        """Yield events of one kind, of all kinds in turn. An error in one kind does not delay the others."""
        with self._quarantine_faults(what):
            yield from take()

    def _quarantine_faults(self, what: str) -> Attempt:
        return self._stores.quarantine.attempt("events for the solver", what)

    def _machine_events(self) -> Iterator[pb.Event]:
        stores = self._stores
        for name in stores.machines.take_removed():
            stores.tasks.forget_node(name)
            yield pb.Event(machine_removed=name)
        for machine in stores.machines.take_changed():
            yield pb.Event(machine=machine)

    def _task_events(self) -> Iterator[pb.Event]:
        """Yield changes of tasks, after the classes and jobs that they refer to for the first time."""
        stores = self._stores
        removed, placed, waiting = stores.tasks.take_updates()
        tasks = [*(task for task, _, _ in placed), *waiting]
        for number in dict.fromkeys(task.task_class for task in tasks):
            if number not in self._sent_classes:
                message = stores.classes.message(number)
                self._sent_classes.add(number)
                yield pb.Event(task_class=message)
        for job_id in dict.fromkeys(task.job for task in tasks if task.job):
            job = stores.jobs.define(job_id)
            if job is not None:
                yield pb.Event(job=job)
        yield from (pb.Event(task_removed=uid) for uid in removed)
        yield from encode_placed(placed)
        yield from encode_pending(waiting)

    def _remove_ended_classes(self) -> list[pb.Event]:
        """Remove classes that no pod has any more, and return their events.

        Call this method when the solver has all tasks.
        """
        stores = self._stores
        gone = stores.classes.forget_unused()
        if not gone:
            return []
        stores.bind_check.forget_classes(gone)
        stores.images.want_only(stores.classes.images())
        known = [number for number in gone if number in self._sent_classes]
        self._sent_classes.difference_update(known)
        return [pb.Event(class_removed=number) for number in known]

    def _set_application_records(self, applications: NetworkState) -> None:
        """Send records of the applications and networks in force, if a cost model reads them."""
        stores = self._stores
        if stores.classes.visibility.records.isdisjoint(APPLICATION_RECORDS):
            return
        for kind, name, payload in applications.take_records():
            stores.custom_records.set_record(kind, name, payload)

    def _weigh_images(self) -> None:
        stores = self._stores
        stores.images.want(stores.classes.take_images())
        heavy, nodes = stores.images.take_heavy()
        stores.classes.weigh_images(heavy)
        for node in nodes:
            stores.machines.show_images(node, stores.images.list_heavy_images(node))


def encode_pending(tasks: Iterable[Task]) -> Iterator[pb.Event]:
    """Yield one event with the pending tasks of each class, job, priority and spread group."""
    for _, members in _alike((task, ("", False)) for task in tasks):
        event = pb.Event()
        _describe(event.tasks, members)
        event.tasks.created.extend([task.created for task in members])
        yield event


def encode_placed(placed: Iterable[tuple[Task, str, bool]]) -> Iterator[pb.Event]:
    """Yield one event with the placed tasks of each machine, class, job, priority and spread group.

    ``placed``: tasks, their machines, and whether their bindings are still under way.
    """
    for (machine, assumed), members in _alike(
        (task, (machine, assumed)) for task, machine, assumed in placed
    ):
        event = pb.Event()
        batch = event.bound
        batch.machine, batch.assumed = machine, assumed
        _describe(batch, members)
        for times, known in (
            (batch.assigned, [task.scheduled for task in members]),
            (batch.initialized, [task.initialized for task in members]),
            (batch.created, [task.created for task in members]),
        ):
            if any(known):
                times.extend(known)
        yield event


def _alike(tasks: Iterable[tuple[Task, _Where]]) -> Iterator[tuple[_Where, list[Task]]]:
    """Yield groups of tasks with equal machine, class, job, priority and spread group, in order of first appearance."""
    batches: dict[tuple[object, ...], tuple[_Where, list[Task]]] = {}
    for task, where in tasks:
        key = where, task.task_class, task.job, task.priority, task.group_priority, task.spread
        known = batches.get(key)
        if known is None:
            known = batches[key] = where, []
        known[1].append(task)
    yield from batches.values()


def _describe(batch: pb.TaskBatch | pb.BoundTasks, members: Sequence[Task]) -> None:
    """Write into ``batch`` the fields that all ``members`` share, and the members' uids and names.

    The message is filled in place: a constructor would copy it, and a hundred thousand tasks may have to be
    described.
    """
    task = members[0]
    batch.task_class, batch.job, batch.priority = task.task_class, task.job, task.priority
    batch.spread_group = task.spread
    if task.group_priority is not None:
        batch.group_priority = task.group_priority
    batch.uids.extend([task.uid for task in members])
    batch.names.extend([task.name for task in members])
