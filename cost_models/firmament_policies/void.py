"""The policy that charges nothing and says nothing.

Source: Firmament's VOID cost model. There every cost is 0, that of leaving a task unscheduled included; two
equivalence classes per task, that of its command line and one of its own, lead to every machine with capacity 0 or all
that is free. It existed to feed the web page while the simple scheduler decided. What takes its place here:

* the task's own equivalence class is left out: it made one class, and one arc per machine, of every single task;
* leaving a task unscheduled costs what the scheduler itself charges, above any placement: with the original's cost of 0
  a solver may leave everything unscheduled and be right.

So it places like ``trivial``. It is meant as a base for overlays that are to decide alone.
"""

from __future__ import annotations

from cost_models.firmament_policies.trivial import Trivial


class Void(Trivial):
    """Charges nothing for any machine."""

    name = "void"
