"""The policy that charges nothing and states nothing about machines.

Source: Firmament's VOID cost model. In the original, every cost is 0, also the cost of leaving a task unscheduled. In
that model, each task has two equivalence classes, one of its command line and one of its own; both lead to every
machine, with capacity 0 or with all that is free. The model only supplied the web page while the simple scheduler
decided. Changes:

* a task has no equivalence class of its own, which would need an arc to each machine for every single task;
* leaving a task unscheduled costs what the scheduler itself charges, above any placement: at the original's cost of 0 a
  solver may leave all tasks unscheduled and still be optimal.

The policy therefore places tasks like ``trivial``. Use this policy as a base for overlays that decide alone.
"""

from __future__ import annotations

from cost_models.firmament_policies.trivial import Trivial


class Void(Trivial):
    """Charges nothing for any machine."""

    name = "void"
