"""Draws random cases of queues, and lets rounds of the core and another program decide each of them.

``python -m benchmarks.judge.drawn_queues FILE`` writes the cases with both decisions, for ``python -m
benchmarks.judge.queues FILE`` to judge. ``drawing`` makes cases out of seeds, ``objects`` states them as Kueue's
objects, ``here`` and ``elsewhere`` decide them.

The other program is started as ``PROGRAM CASES DECISIONS``. It reads a case from each line of the first file: an object
with ``name``, ``fair``, ``strategies``, ``now``, ``cycles``, and the lists ``flavors``, ``clusterQueues``,
``localQueues``, ``cohorts`` and ``workloads`` of objects of kueue.x-k8s.io/v1beta2. To the second file it writes for
each case ``name`` and ``cycles``, a list with what has been decided by the end of each cycle of its scheduler:
``admitted`` (by workload, the flavor of each resource), ``comes`` (workloads that wait for their victims), ``evicted``.
Victims go on until the last cycle. Such a program can be a test of Kueue's package ``pkg/scheduler``, built in a copy
of its sources; none is part of this project.
"""
