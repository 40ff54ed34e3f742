"""Load-aware scheduling as in Koordinator: refuses machines above thresholds of use, and balances measured use."""
