"""Contains programs that run on nodes and measure bandwidth and latency."""
