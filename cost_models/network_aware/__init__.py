"""Network overhead between the parts of an application, as in the upstream network-aware plugins."""
