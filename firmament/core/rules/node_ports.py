"""NodePorts: two tasks on a machine must not use the same host port.

A port on all addresses conflicts with every use of the port; a port on one address conflicts with uses on all
addresses and on the same address. The rule follows ``HostPortInfo.CheckConflict`` of kube-scheduler.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from types import MappingProxyType

from firmament.core.changes import ChangedMachine, CureChange, CureKind, CureProposal, TrialChange
from firmament.core.model import TaskClass
from firmament.core.reasons import Reason
from firmament.core.rules.framework.compilation import Compilation
from firmament.core.rules.framework.pod_rule import PodRule
from firmament.core.state.classes import ClassRow


class NodePorts(PodRule):
    """Keeps tasks that use the same host port on different machines."""

    name = "NodePorts"
    called = MappingProxyType({Reason.PORTS_TAKEN: "host ports"})
    stated_in = ("ports",)

    def compile(self, compilation: Compilation) -> None:
        """Keep classes that use the same host port off each other's machines.

        Ports that the same classes use share one counter.
        """
        found: set[tuple[tuple[int, ...], int]] = set()
        for by_ip in _find_port_users(compilation.rows, compilation.ruled, compilation.waiting).values():
            everyone = tuple(sorted({row for users in by_ip.values() for row in users}))
            if waiting_ones := [row for row in everyone if row in compilation.waiting]:
                for ip, users in by_ip.items():
                    against = [everyone] if not ip else [tuple(users), tuple(by_ip.get("", ()))]
                    among = set(users)
                    found.update(
                        (others, row) for others in against if others for row in waiting_ones if row in among
                    )
        compilation.exclude_on_machines(found, Reason.PORTS_TAKEN)

    def count_checks(self, content: TaskClass) -> int:
        """Return one check for each port."""
        return len(content.ports)

    def cures(self, standing: ChangedMachine) -> Iterator[CureProposal]:
        """Yield cures that drop one of the task's ports."""
        content = standing.content
        for index, port in enumerate(content.ports):
            step = CureChange(CureKind.DROP, f"hostPort {port.port}/{port.protocol}")
            changed = replace(content, ports=(*content.ports[:index], *content.ports[index + 1 :]))
            yield CureProposal((step,), TrialChange(changed, standing.machine))


def _find_port_users(
    rows: Sequence[ClassRow], ruled: Sequence[int], waiting: Collection[int]
) -> dict[tuple[str, int], dict[str, list[int]]]:
    """Return the classes (rows) that use a port which some class in ``waiting`` asks for.

    The result lists the classes by (protocol, port), then by address ("" for all addresses).
    """
    users: dict[tuple[str, int], dict[str, list[int]]] = {}
    wanted = {(each.protocol, each.port) for row in waiting for each in rows[row].content.ports}
    for row in ruled if wanted else ():
        for port in rows[row].content.ports:
            if (port.protocol, port.port) in wanted:
                users.setdefault((port.protocol, port.port), {}).setdefault(port.ip, []).append(row)
    return users
