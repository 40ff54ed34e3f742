"""What the solver has to be told: everything to one that knows nothing, and what has changed since."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from poseidon.app_network.spec.keys import APPLICATION_RECORDS
from poseidon.bridge.solver_stream.refused_events import RefusedEvents
from poseidon.kube.watch.quarantine import Attempt
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from poseidon.bridge.stores import Stores


class EventStream:
    """Turns what has changed in ``stores`` into events, each once per stream."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._told_classes: set[int] = set()
        self._refused_events = RefusedEvents(stores.quarantine)

    def snapshot(self) -> Iterator[pb.Event]:
        """Yield everything, for a solver that knows nothing; later events are relative to it.

        Pods that are being bound stand in it as assumed on their nodes.
        """
        stores = self._stores
        for book in (
            stores.machines,
            stores.jobs,
            stores.tasks,
            stores.history,
            stores.namespaces,
            stores.samples,
            stores.custom_records,
            stores.gangs.topology.records,
        ):
            book.forget_told()
        self._told_classes.clear()
        stores.placements.forget_reports()
        return self.take_events()

    def refused(self, event: pb.Event, reason: str) -> None:
        """The solver has refused an event: it is left out until what it is about changes."""
        self._refused_events.note(event, reason)

    def take_events(self) -> Iterator[pb.Event]:
        """Yield what the solver has to be told, once, in an order in which it can be applied.

        To be gone through at once and to its end: nothing may change meanwhile.
        """
        return self._refused_events.admitted(self._all_events())

    def _all_events(self) -> Iterator[pb.Event]:
        stores = self._stores
        with self._attempt("images"):
            self._weigh_images()
        with self._attempt("classes"):
            if stores.classes.refresh():
                stores.tasks.mark_moved()
        yield from self._events("machines", self._machine_events)
        yield from self._events("run times", stores.history.take)
        yield from self._events("namespaces", stores.namespaces.take)
        # Before the tasks: no round may place a group without its rules.
        yield from self._events("groups", stores.gangs.topology.records.take)
        yield from self._events("jobs", lambda: (pb.Event(job=job) for job in stores.jobs.take_changed()))
        yield from self._task_events()
        # After the tasks: a record counts those that were on its machine before it, unless it says otherwise.
        with self._attempt("applications"):
            self._tell_applications()
        yield from self._events("records", stores.custom_records.take)
        yield from self._events("samples", lambda: stores.samples.take(lambda node: node in stores.machines))
        ended = stores.jobs.take_ended()
        yield from self._events("ended jobs", lambda: (pb.Event(job_removed=job_id) for job_id in ended))
        yield from self._events("ended classes", self._ended_classes)

    def _events(self, what: str, take: Callable[[], Iterable[pb.Event]]) -> Iterator[pb.Event]:
        """Yield events of one kind; what goes wrong with them does not hold up those of other kinds."""
        with self._attempt(what):
            yield from take()

    def _attempt(self, what: str) -> Attempt:
        return self._stores.quarantine.attempt("events for the solver", what)

    def _machine_events(self) -> Iterator[pb.Event]:
        stores = self._stores
        for name in stores.machines.take_removed():
            stores.tasks.forget_node(name)
            yield pb.Event(machine_removed=name)
        for machine in stores.machines.take_changed():
            yield pb.Event(machine=machine)

    def _task_events(self) -> Iterator[pb.Event]:
        """Yield what has become of tasks, behind the classes and jobs that they refer to for the first time."""
        stores = self._stores
        task_events, tasks = stores.tasks.take()
        for number in dict.fromkeys(task.task_class for task in tasks):
            if number not in self._told_classes:
                message = stores.classes.message(number)
                self._told_classes.add(number)
                yield pb.Event(task_class=message)
        for job_id in dict.fromkeys(task.job for task in tasks if task.job):
            job = stores.jobs.define(job_id)
            if job is not None:
                yield pb.Event(job=job)
        yield from task_events

    def _ended_classes(self) -> list[pb.Event]:
        """Forget the classes that no pod has any more; to be called when the solver has been told of all tasks."""
        stores = self._stores
        gone = stores.classes.forget_unused()
        if not gone:
            return []
        stores.bind_check.forget_classes(gone)
        stores.images.want_only(stores.classes.images())
        told = [number for number in gone if number in self._told_classes]
        self._told_classes.difference_update(told)
        return [pb.Event(class_removed=number) for number in told]

    def _tell_applications(self) -> None:
        """Let models know what is in force, if one looks at it."""
        stores = self._stores
        if stores.applications is None or stores.classes.visibility.records.isdisjoint(APPLICATION_RECORDS):
            return
        for kind, name, payload in stores.applications.take_records():
            stores.custom_records.tell(kind, name, payload)

    def _weigh_images(self) -> None:
        stores = self._stores
        stores.images.want(stores.classes.take_images())
        heavy, nodes = stores.images.take_heavy()
        stores.classes.weigh_images(heavy)
        for node in nodes:
            stores.machines.show_images(node, stores.images.heavy_on(node))
