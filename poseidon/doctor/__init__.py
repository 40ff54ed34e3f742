"""The checks of `poseidon doctor`, which say whether a cluster has all that a bridge needs."""
