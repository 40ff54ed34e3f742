"""Makes random clusters from seeds: nodes, pods, rules and storage."""
