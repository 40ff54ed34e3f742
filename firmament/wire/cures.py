"""Encodes cures as messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from firmament.core.changes import CureChange
from firmament.core.cures.proposals import Cure
from firmament.core.events import TasksBound
from firmament.core.intake.cluster_events import ClusterEvents
from protos.firmament.v1 import scheduler_pb2 as pb


def cures_to_proto(cures: Sequence[Cure], known: ClusterEvents) -> pb.FoundCures:
    """Return cures as a message; ``known``: the cluster's tasks with their names and machines."""
    concerned = {uid for each in cures for uid in (*each.moves, each.rival)}
    placed = {each.uids[0]: each for each in known.placed if each.uids[0] in concerned}
    waiting = {
        uid: event.names[index]
        for event in known.waiting
        for index, uid in enumerate(event.uids)
        if uid in concerned
    }
    return pb.FoundCures(cures=[_encode(each, placed, waiting) for each in cures])


def _encode(cure: Cure, placed: Mapping[str, TasksBound], waiting: Mapping[str, str]) -> pb.Cure:
    return pb.Cure(
        steps=map(_encode_step, cure.steps),
        machine=cure.machine,
        moves=[
            pb.TaskMove(task=uid, name=placed[uid].names[0], source=placed[uid].machine, target=target)
            for uid, target in cure.moves.items()
        ],
        rival=waiting.get(cure.rival, ""),
        together=cure.together,
    )


def _encode_step(step: CureChange) -> pb.CureStep:
    found = pb.CureStep(kind=step.kind.value, subject=step.subject, machine=step.machine)
    for when, value in (("before", step.before), ("after", step.after)):
        if value is not None:
            setattr(found, f"{'amount' if isinstance(value, int) else 'value'}_{when}", value)
    return found
