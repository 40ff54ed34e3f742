"""The Kubernetes API as poseidon needs it: objects, quantities, transport."""
