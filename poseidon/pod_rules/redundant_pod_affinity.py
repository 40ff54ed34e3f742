"""Leaves out pod affinity that the rules of a tree of groups guarantee, so that its pods need no rules between them.

Controllers that give each group a domain of its own add affinities to each pod: to pods with the group's value of a
label, and against pods with other values. Within one tree, the search for places guarantees the effects of both kinds
of terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from protos.firmament.v1 import scheduler_pb2 as pb


class KeptTerm(NamedTuple):
    """Affinity terms that need not be evaluated: pods with equal ``labels`` share a domain of ``topology_key``."""

    labels: tuple[str, ...]
    """Keys of pod labels; their values identify the group."""
    topology_key: str
    """Label of nodes."""
    apart: bool = False
    """Whether pods with another value of the first label are also kept away, whatever tree they are in."""


def drop_kept_terms(message: pb.TaskClass, kept: Sequence[KeptTerm]) -> None:
    """Remove the affinities that ``kept`` covers from the message of a class."""
    together = [each for each in message.affinity if not _is_own(each, message, kept)]
    apart = [each for each in message.anti_affinity if not _is_against_others(each, message, kept)]
    del message.affinity[:], message.anti_affinity[:]
    message.affinity.extend(together)
    message.anti_affinity.extend(apart)


def _is_own(term: pb.TaskTerm, message: pb.TaskClass, kept: Sequence[KeptTerm]) -> bool:
    found = sorted((each.key, each.operator, *each.values) for each in term.selector.labels)
    return any(
        term.topology_key == each.topology_key
        and found == sorted((label, "In", message.labels.get(label, "")) for label in each.labels)
        for each in kept
    )


def _is_against_others(term: pb.TaskTerm, message: pb.TaskClass, kept: Sequence[KeptTerm]) -> bool:
    found = {(each.key, each.operator, *each.values) for each in term.selector.labels}
    return any(
        each.apart
        and term.topology_key == each.topology_key
        and found
        == {(each.labels[0], "Exists"), (each.labels[0], "NotIn", message.labels.get(each.labels[0]))}
        for each in kept
    )
