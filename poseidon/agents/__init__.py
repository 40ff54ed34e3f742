"""Programs that run on nodes and measure what schedulers use."""
