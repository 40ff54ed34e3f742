"""Who comes first where places are scarce: order, importance, fair shares, reservations."""
