"""What else runs in a cluster: kubelets, another scheduler, disruption and volume controllers."""
