"""Pods that belong together: which group a pod is in, what its group asks for, how far it has come.

Nothing here does input or output; ``bridge`` and ``offline`` feed it and carry out what follows.
"""
