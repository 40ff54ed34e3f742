"""The harness's commands, one module each; what they need is imported when they run."""
