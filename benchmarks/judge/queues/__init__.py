"""Judges decisions about queues, whoever has made them: are they allowed, and which of two is better?

It shares no code with the solver or the bridge: quotas are counted from their definition, one node of the tree after
another. ``python -m benchmarks.judge.queues FILE`` reads cases, one JSON object a line (``cases.py`` has their fields),
and prints what it finds.

A decision is *allowed* if

* whoever is admitted, or will be once its victims have left, has quota then, and its machines have room;
* each victim may be evicted for somebody who comes, by the policies of that one's queue, or as it is less important and
  on the same machine;
* no victim leaves in vain: with it back, quota or room would not suffice.

Of two decisions one is *better* by the first of these that differs: more workloads are admitted, or will be, of the
highest priority, of the next one, and so on; fewer victims have the highest priority, the next one, and so on; less is
borrowed.
"""
