"""A cost model in a package that is installed where the solver runs alone: the bridge tells what it needs."""

from __future__ import annotations

import yaml

from poseidon.testbed.seeding import NodeShape, create_pods
from tests.cost_models.packages import HEAD, install
from tests.programs.end_to_end.scene import scene
from tests.support.cluster import pod

MODEL = '''
class Tiered(BaseModel):
    """Keeps tasks without the label ``tier``, or whose containers it is not told, off every machine."""

    name, kind, range = "tiered", "overlay", Range(best=0, worst=100)
    needs = Needs(labels=("tier",), containers=True)

    def assess(self, machines, shapes):
        told = [row.labels.get("tier") == "gold" and len(row.containers) == 1 for row in shapes.rows]
        feasible = np.repeat(np.array(told, dtype=bool)[:, None], machines.count, axis=1)
        return Assessment(raw=np.zeros((shapes.count, 1)), feasible=feasible)
'''
CONFIGURATION = {
    "apiVersion": "firmament.io/v1alpha1",
    "kind": "SchedulerConfiguration",
    "costModels": [{"name": "tiered", "weight": 1}],
}


async def test_an_unchanged_bridge_tells_a_model_that_it_does_not_know_what_that_needs(tmp_path, monkeypatch):
    site = tmp_path / "site"
    site.mkdir()
    (site / "tiered.py").write_text(HEAD + MODEL)
    install(site, "tiered", "tiered = tiered:Tiered")
    config = tmp_path / "configuration.yaml"
    config.write_text(yaml.safe_dump(CONFIGURATION))
    async with scene(tmp_path, config=config) as s:
        await s.nodes(2, [NodeShape("small", cpu="4")])
        with monkeypatch.context() as installed:
            installed.syspath_prepend(str(site))
            await s.stack.start_solver()
        await s.stack.start_bridge()
        labelled, plain = pod("labelled", cpu="1"), pod("plain", cpu="1")
        labelled["metadata"]["labels"] = {"tier": "gold", "app": "web"}
        await create_pods(s.operations, (labelled, plain))
        await s.until_bound(1)
        assert set(s.placed()) == {"labelled"}
        counts = await s.until_solver(lambda counts: counts.bound == 1 and counts.pending == 1)
        assert counts.machines == 2
        assert s.conflicts() == 0
