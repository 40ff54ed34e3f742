"""Long jobs, done one after another by a process beside the server."""
