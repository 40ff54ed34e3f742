"""AppGroup and NetworkTopology of diktyo-io: what is in force and what their objects should say."""
