"""The overlay's verdicts and scores against the reference's semantics, over arbitrary clusters."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cost_models.load_aware import oracle
from tests.cost_models.load_aware.oracle import Args, Node, Own, Pod, Report
from tests.cost_models.load_aware.scenes import NOW, cluster, of_args, verdicts
from tests.support.effort import examples

CLASSES = ("koord-prod", "koord-prod", "koord-batch", "koord-mid", "koord-free", "")
times = st.sampled_from([NOW - 500, NOW - 180, NOW - 179, NOW - 100, NOW - 60, NOW - 40, NOW - 1])
percent = st.integers(0, 100)
percents = st.dictionaries(st.sampled_from(["cpu", "memory"]), percent, max_size=2)
weights = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.integers(1, 5), max_size=2)
durations = st.sampled_from([0, 300, 600])
kinds = st.sampled_from(["", "avg", "p95"])
own_kinds = st.sampled_from(["", "avg", "p95", "p42", "std"])  # nobody checks those of nodes


def amounts(cpu: int, memory: int) -> st.SearchStrategy[dict[str, int]]:
    return st.fixed_dictionaries({"cpu": st.integers(0, cpu), "memory": st.integers(0, memory)})


def resources(draw: st.DrawFn, service_class: str) -> dict[str, int]:
    names = ["cpu", "memory"]
    names += oracle.EXTENDED.get(service_class, {}).values()
    chosen = draw(st.lists(st.sampled_from(names), unique=True))
    return {name: draw(st.integers(1, 4000)) for name in chosen}


@st.composite
def pods(draw: st.DrawFn, name: str, *, placed: bool) -> Pod:
    service_class = draw(st.sampled_from(CLASSES))
    pod = Pod(
        name,
        service_class,
        requests=resources(draw, service_class),
        limits=resources(draw, service_class),
        daemon=draw(st.integers(0, 9)) == 0,
    )
    if placed:
        pod.assigned = draw(times)
        pod.initialized = draw(st.none() | times)
        pod.used = draw(st.none() | amounts(3000, 3000))
        pod.said_prod = draw(st.booleans())
    return pod


@st.composite
def reports(draw: st.DrawFn) -> Report:
    windows = {
        (kind, seconds): draw(st.just({}) | amounts(9000, 9000))
        for kind in ("avg", "p95")
        for seconds in (300.0, 600.0)
        if draw(st.booleans())
    }
    return Report(
        time=draw(times | st.none()),
        interval=draw(st.sampled_from([30.0, 60.0])),
        usage=draw(amounts(9000, 9000) | amounts(9000, 9000) | st.none()),
        windows=windows,
        system=draw(amounts(500, 500)),
    )


@st.composite
def nodes(draw: st.DrawFn) -> list[Node]:
    found = []
    for index in range(draw(st.integers(1, 3))):
        node = Node(f"n{index}", draw(amounts(10_000, 400 * 2**20)), draw(st.none() | reports()))
        count = draw(st.integers(0, 3))
        node.pods = [draw(pods(f"p{index}-{number}", placed=True)) for number in range(count)]
        if draw(st.integers(0, 2)) == 0:
            node.own = Own(draw(percents), draw(percents), draw(percents), draw(own_kinds), draw(durations))
        if node.report is None:
            for pod in node.pods:
                pod.used = None
        found.append(node)
    return found


@st.composite
def arguments(draw: st.DrawFn) -> Args:
    aggregated: dict[str, object] = {}
    if draw(st.booleans()):
        aggregated = {
            "usageThresholds": draw(percents),
            "usageAggregationType": draw(kinds),
            "usageAggregatedDuration": draw(durations),
            "scoreAggregationType": draw(kinds),
            "scoreAggregatedDuration": draw(durations),
        }
    args = Args(
        filterExpiredNodeMetrics=draw(st.booleans()),
        enableScheduleWhenNodeMetricsExpired=draw(st.booleans()),
        resourceWeights=draw(weights),
        dominantResourceWeight=draw(st.sampled_from([0, 0, 3])),
        usageThresholds=draw(percents),
        prodUsageThresholds=draw(percents),
        prodUsageIncludeSys=draw(st.booleans()),
        scoreAccordingProdUsage=draw(st.booleans()),
        estimatedSecondsAfterPodScheduled=draw(st.sampled_from([0, 0, 120])),
        estimatedSecondsAfterInitialized=draw(st.sampled_from([0, 0, 50, 300])),
        aggregated=aggregated,
        thresholdRounding=draw(st.sampled_from(["exact", "upstream"])),
    )
    if not args.usageThresholds:
        args.usageThresholds = {"cpu": 65, "memory": 95}
    if not args.resourceWeights and not args.dominantResourceWeight:
        args.resourceWeights = {"cpu": 1, "memory": 1}
    return args


@settings(max_examples=examples(150))
@given(nodes(), pods("waiting", placed=False), arguments())
def test_verdicts_and_scores_are_those_of_the_reference(scene: list[Node], waiting: Pod, args: Args) -> None:
    core = cluster(scene, [waiting], of_args(args))
    found = verdicts(core, "waiting")
    for node in scene:
        verdict, reasons = found[node.name]
        reason = oracle.refused(node, waiting, args, NOW)
        # Where there is no room for the requests, that is told, as kube-scheduler's own filters come first.
        assert not reason or reasons[0] == reason or reasons[0].startswith("Insufficient")
        assert (verdict.feasible, verdict.score) == (not reason, oracle.score(node, waiting, args, NOW)), node
