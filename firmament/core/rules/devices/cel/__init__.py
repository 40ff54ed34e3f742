"""The Common Expression Language (CEL) for device selectors, with a bound on the work of each evaluation."""
