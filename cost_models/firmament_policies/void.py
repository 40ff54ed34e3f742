"""The policy that charges nothing and states nothing about machines.

Source: Firmament's VOID cost model. There every cost is 0, also that of leaving a task unscheduled. Each task has two
equivalence classes, one of its command line and one of its own; these lead to every machine, with capacity 0 or with
all that is free. The model only supplied the web page while the simple scheduler decided. Changes:

* a task has no equivalence class of its own, which needed an arc to each machine for every single task;
* leaving a task unscheduled costs what the scheduler itself charges, above any placement: at the original's cost of 0 a
  solver may leave all tasks unscheduled and still be optimal.

So it places like ``trivial``. Use it as a base for overlays that decide alone.
"""

from __future__ import annotations

from cost_models.firmament_policies.trivial import Trivial


class Void(Trivial):
    """Charges nothing for any machine."""

    name = "void"
