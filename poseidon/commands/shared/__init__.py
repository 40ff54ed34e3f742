"""Code that several commands share: options, connections, input from files, progress, output and exit."""
