"""What ConfigMaps, PodGroups and node labels say of groups and of the cluster's tree."""
