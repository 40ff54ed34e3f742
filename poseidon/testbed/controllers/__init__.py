"""What else runs in a cluster: kubelets, disruption and volume controllers, what pods really use."""
