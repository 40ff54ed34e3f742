"""Limits, periods and defaults that people and other programs rely on: who changes one decides it here as well."""

from __future__ import annotations

from tests.support.figures import read_figures

FIGURES = {
    "poseidon.testbed.api_server.bulk:_ERRORS_SHOWN": 100,
    "poseidon.testbed.api_server.bulk:_PAUSE_EVERY": 250,
    "poseidon.testbed.api_server.faults:Fault.after": False,
    "poseidon.testbed.api_server.faults:Fault.code": 0,
    "poseidon.testbed.api_server.faults:Fault.cut": False,
    "poseidon.testbed.api_server.faults:Fault.delay": 0.0,
    "poseidon.testbed.api_server.faults:Fault.hold": False,
    "poseidon.testbed.api_server.faults:Fault.silent": False,
    "poseidon.testbed.api_server.faults:Fault.skip": 0,
    "poseidon.testbed.api_server.flow_control:RETRY_AFTER_SECONDS": 1,
    "poseidon.testbed.api_server.flow_control:WriteLimits.in_flight": 0,
    "poseidon.testbed.api_server.flow_control:WriteLimits.latency": 0.0,
    "poseidon.testbed.api_server.flow_control:WriteLimits.rate": 0.0,
    "poseidon.testbed.api_server.listing:ListOptions.limit": 0,
    "poseidon.testbed.api_server.listing:_NEWEST": -1,
    "poseidon.testbed.api_server.options:ClusterOptions.bookmark_interval": 60.0,
    "poseidon.testbed.api_server.options:ClusterOptions.graceful": False,
    "poseidon.testbed.api_server.options:ClusterOptions.history": 50_000,
    "poseidon.testbed.api_server.measured_use:ReportOptions.interval": 60.0,
    "poseidon.testbed.api_server.measured_use:ReportOptions.lag": 0.0,
    "poseidon.testbed.api_server.measured_use:_LONGEST_PAUSE": 1.0,
    "poseidon.testbed.api_server.requests:_WATCH_SECONDS": 1800,
    "poseidon.testbed.api_server.server:_MAX_BODY": 3_145_728,
    "poseidon.testbed.api_server.tables:Column.priority": 0,
    "poseidon.testbed.api_server.watching:WatchOptions.bookmark_interval": 60.0,
    "poseidon.testbed.api_server.watching:WatchOptions.bookmarks": False,
    "poseidon.testbed.api_server.watching:WatchOptions.revision": 0,
    "poseidon.testbed.api_server.watching:WatchOptions.send_initial_events": False,
    "poseidon.testbed.api_server.watching:WatchOptions.timeout": 1800.0,
    "poseidon.testbed.api_server.watching:_BATCH": 500,
    "poseidon.testbed.controllers.controller_loop:_BATCH": 1000,
    "poseidon.testbed.controllers.kubelet:_MOUNT_RETRY": 0.5,
    "poseidon.testbed.controllers.kubelet:_POD_ADDRESSES": 16_777_216,
    "poseidon.testbed.controllers.true_use:NOISE_PERIOD": 60.0,
    "poseidon.testbed.controllers.true_use:Use.cpu": 0,
    "poseidon.testbed.controllers.true_use:Use.memory": 0,
    "poseidon.testbed.harness.attached:_SET_PARENT_DEATH_SIGNAL": 1,
    "poseidon.testbed.harness.child:_POLL_SECONDS": 0.02,
    "poseidon.testbed.harness.child:_TAIL_LINES": 15,
    "poseidon.testbed.harness.stack:StackOptions.kubelets": False,
    "poseidon.testbed.harness.stack:_GRACE_SECONDS": 15.0,
    "poseidon.testbed.harness.stack:_KILL_SECONDS": 5.0,
    "poseidon.testbed.harness.stack:_NOTICE_SECONDS": 1.0,
    "poseidon.testbed.objects.pods:_DEFAULT_SECONDS": 30,
    "poseidon.testbed.objects.resources:ResourceType.custom": False,
    "poseidon.testbed.objects.resources:ResourceType.has_status": False,
    "poseidon.testbed.objects.resources:ResourceType.returns_deleted": False,
    "poseidon.testbed.objects.store:_SUFFIX_LENGTH": 5,
    "poseidon.testbed.objects.store:_SUFFIX_STRIDE": 7_368_787,
    "poseidon.testbed.seeding:NodeShape.pods": 110,
    "poseidon.testbed.seeding:_PAUSE_EVERY": 250,
}


def test_figures_are_those_decided_on():
    assert read_figures(FIGURES) == FIGURES
