"""Two names of schedulers in one bridge: both programs place the pods of each by models of its own."""

from __future__ import annotations

import yaml

from poseidon.testbed.seeding import NodeShape
from tests.programs.end_to_end.scene import scene

CONFIGURATION = {
    "apiVersion": "firmament.io/v1alpha1",
    "kind": "SchedulerConfiguration",
    "schedulerNames": ["poseidon", "batch"],
    "profiles": [{"schedulerName": "batch", "policy": {"name": "most_allocated"}}],
}


async def test_pods_of_each_name_are_bound_where_its_profile_wants_them(tmp_path):
    config = tmp_path / "configuration.yaml"
    config.write_text(yaml.safe_dump(CONFIGURATION))
    web, job = [f"web-{number}" for number in range(4)], [f"job-{number}" for number in range(4)]
    async with scene(tmp_path, config=config) as s:
        await s.nodes(4, [NodeShape("small", cpu="4")])
        await s.pods(web, cpu="500m")
        await s.pods(job, cpu="300m", schedulerName="batch")
        await s.pods(["foreign"], schedulerName="another")
        await s.start()
        await s.until_bound(8)
        where = s.placed()
        assert set(where) == {*web, *job}
        assert len({where[name] for name in web}) == 4
        assert len({where[name] for name in job}) == 1
        s.check_sound()
