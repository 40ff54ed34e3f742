"""Where measured use comes from: NodeMetric objects, metrics.k8s.io and Prometheus, turned into samples."""
