"""VolumeRestrictions between tasks: a task that writes to a disk, or has it alone, keeps others off its machine."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

from firmament.core.changes import ChangedMachine, CureProposal
from firmament.core.model import TaskClass
from firmament.core.reasons import Reason
from firmament.core.rules.framework.compilation import Compilation
from firmament.core.rules.framework.pod_rule import PodRule


class SharedDisks(PodRule):
    """Lets tasks share a disk on a machine if all only read it; a claim for one task at a time is never shared."""

    name = "VolumeRestrictions"
    called = MappingProxyType({Reason.NO_DISK: "disks", Reason.CLAIM_IN_USE: "claims for one pod at a time"})
    stated_in = ("disks",)

    def compile(self, compilation: Compilation) -> None:
        """Keep classes that write to a disk off the machines of all other classes that use the disk, and vice versa."""
        if not any(compilation.rows[row].content.disks for row in compilation.waiting):
            return
        everyone: dict[tuple[str, bool], set[int]] = {}
        writing: dict[tuple[str, bool], set[int]] = {}
        for row in compilation.ruled:
            for disk in compilation.rows[row].content.disks:
                everyone.setdefault((disk.name, disk.claim), set()).add(row)
                if not disk.read_only:
                    writing.setdefault((disk.name, disk.claim), set()).add(row)
        for claims, reason in ((False, Reason.NO_DISK), (True, Reason.CLAIM_IN_USE)):
            found: set[tuple[tuple[int, ...], int]] = set()
            for name, users in everyone.items():
                writers = writing.get(name, set())
                for row in users if name[1] is claims else ():
                    against = users if row in writers else writers
                    if row in compilation.waiting and against:
                        found.add((tuple(sorted(against)), row))
            compilation.exclude_on_machines(found, reason)

    def count_checks(self, content: TaskClass) -> int:
        """Return how many checks a class needs: one for each disk."""
        return len(content.disks)

    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal]:  # noqa: ARG002  # a disk is needed
        """Return no cures, because a task cannot do without its disk."""
        return iter(())
