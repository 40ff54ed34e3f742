"""Code that the readers of all projects share: fields of objects, sets of pods, existing pods."""
