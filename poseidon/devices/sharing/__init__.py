"""Translates the annotations and requests by which other projects share GPUs into slices and claims."""
