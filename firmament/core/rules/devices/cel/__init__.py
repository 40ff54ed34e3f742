"""The Common Expression Language as selectors of devices use it: parsed once, evaluated with a bound on the work."""
