"""NUMA fit: which zones a task would get, as the kubelet's Topology Manager gives them."""
