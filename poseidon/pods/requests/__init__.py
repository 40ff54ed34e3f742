"""What a pod takes of a node: resources, containers, ports, bandwidth, estimates of use."""
