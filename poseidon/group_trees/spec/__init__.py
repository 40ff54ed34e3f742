"""Reads topology groups and the cluster's tree from ConfigMaps, PodGroups and node labels."""
