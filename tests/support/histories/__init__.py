"""Properties that hold for any input, checked against the models in ``tests/oracle``."""
