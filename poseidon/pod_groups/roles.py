"""Chooses which pods of a group are sent to the solver, if each role of the group needs a number of pods.

The solver places all pods of a gang that it gets together. Until enough pods have places, the group therefore gets
exactly the needed pods: of each role as many as the role lacks, and the oldest of the other pods up to
``min_members``. Once enough pods have places, the solver gets all pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from poseidon.group_trees.status.members import Member
from poseidon.group_trees.status.placement import natural
from poseidon.pod_groups.demands import Demand
from poseidon.pod_groups.group_names import MemberPart


@dataclass(frozen=True, slots=True)
class ChosenPods:
    """The choice of a group's pods for the solver.

    ``needed``: how many pods must be placed together, including pods that have a node; ``beyond``: uids of pods that
    are held back; ``lacking``: text for people that says which pods do not exist yet, "" for none.
    """

    needed: int = 0
    beyond: frozenset[str] = frozenset()
    lacking: str = ""


def choose_pods(members: Mapping[str, Member], parts: Mapping[str, MemberPart], demand: Demand) -> ChosenPods:
    """Return which pods of a group are sent to the solver now; ``parts``: what each pod states, by uid.

    Pods that have a node and stay, and pods that have succeeded, count as present; failed pods do not.
    """
    there = [uid for uid, each in members.items() if each.placed]
    done = sum(members[uid].done for uid in there)
    waiting = [uid for uid, each in members.items() if not each.node and not each.done and not each.leaving]
    waiting.sort(key=lambda uid: (members[uid].created, natural(members[uid].name), uid))
    chosen: list[str] = []
    lacking: list[str] = []
    for role, needed in demand.by_role.items():
        have = sum(parts[uid].role == role for uid in there)
        able = [uid for uid in waiting if parts[uid].role == role]
        chosen += able[: max(0, needed - have)]
        if have + len(able) < needed:
            lacking.append(f"{demand.roles} {role} has {have + len(able)} of {needed}")
    more = demand.min_members - len(there) - len(chosen)
    others = [uid for uid in waiting if uid not in set(chosen)]
    if not lacking and more > len(others):
        lacking.append(f"{len(there) + len(waiting)} of {demand.min_members} exist")
    if not lacking and not chosen and more <= 0:
        return ChosenPods(max(demand.min_members - done, 0))
    chosen += others[: max(0, more)]
    return ChosenPods(
        needed=len(there) - done + len(chosen),
        beyond=frozenset(waiting) - frozenset(chosen),
        lacking="; ".join(lacking),
    )
