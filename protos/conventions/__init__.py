"""What both programs keep to towards people, beside the protocol: how they log, and how their commands end."""
