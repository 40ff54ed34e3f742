"""Groups of pods: finds the group that a pod is in, what the group requires, and how far its pods have progressed.

Nothing here does input or output; ``bridge`` and ``offline`` pass changes in and carry out the effects.
"""
