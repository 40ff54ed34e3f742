"""A program that speaks the original Firmament's protocol and places every task on the first machine with room.

It also places one task too many on the first machine, as the original may, so that this is seen.
"""

from __future__ import annotations

import sys
from concurrent import futures

import grpc

from benchmarks.comparators.original_messages import DELTA_PLACE, TASK_SUBMITTED_OK, messages

MADE = messages()
machines: list[tuple[str, float]] = []
tasks: list[tuple[int, float]] = []


def node_added(request, _context):
    """Take a machine, known by its only unit."""
    (unit,) = request.children
    machines.append((unit.resource_desc.uuid, unit.resource_desc.available_resources.cpu_cores))
    return MADE["Reply"]()


def task_submitted(request, _context):
    """Take a task."""
    task = request.task_descriptor
    tasks.append((task.uid, task.resource_request.cpu_cores))
    return MADE["Reply"](type=TASK_SUBMITTED_OK)


def schedule(_request, _context):
    """Place what fits, by cpu alone."""
    free = dict(machines)
    answer = MADE["SchedulingDeltas"]()
    for uid, cpu in tasks[1:]:
        unit = next((unit for unit, left in free.items() if left >= cpu), None)
        if unit is not None:
            free[unit] -= cpu
            answer.deltas.add(task_id=uid, resource_id=unit, type=DELTA_PLACE)
    answer.deltas.add(task_id=tasks[0][0], resource_id=machines[0][0], type=DELTA_PLACE)
    return answer


def handler(function, request):
    """Wrap a method."""
    return grpc.unary_unary_rpc_method_handler(
        function,
        request_deserializer=MADE[request].FromString,
        response_serializer=lambda message: message.SerializeToString(),
    )


if __name__ == "__main__":
    flags = dict(argument.lstrip("-").split("=", 1) for argument in sys.argv[1:])
    methods = {
        "NodeAdded": handler(node_added, "ResourceTopologyNodeDescriptor"),
        "TaskSubmitted": handler(task_submitted, "TaskDescription"),
        "Schedule": handler(schedule, "ScheduleRequest"),
    }
    server = grpc.server(futures.ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers(
        [grpc.method_handlers_generic_handler("firmament.FirmamentScheduler", methods)]
    )
    server.add_insecure_port(
        f"{flags['firmament_scheduler_service_address']}:{flags['firmament_scheduler_service_port']}"
    )
    server.start()
    server.wait_for_termination()
