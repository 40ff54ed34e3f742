"""Cost models: conformance and worked figures."""
