"""Pure functions from Kubernetes objects to the messages of the solver's protocol.

The bridge, `poseidon plan` and `poseidon explain` all translate through here, so that they agree about every
pod.
"""
