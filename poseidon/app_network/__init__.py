"""AppGroup and NetworkTopology of diktyo-io: which specs are in force, and what their statuses should say."""
