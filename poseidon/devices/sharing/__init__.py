"""Turns the inventories, requests and annotations by which other projects share GPUs into slices and claims."""
