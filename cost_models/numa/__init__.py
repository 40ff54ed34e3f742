"""NUMA fit: works out which zones the kubelet's Topology Manager would give to a task."""
