"""Charges for network traffic between workloads of an application, as upstream's network-aware plugins do."""
