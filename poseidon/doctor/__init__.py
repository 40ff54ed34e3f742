"""The checks of `poseidon doctor`: whether a cluster has all that a bridge needs."""
