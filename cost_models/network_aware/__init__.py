"""Network overhead between the parts of an application, as the network-aware plugins have it."""
