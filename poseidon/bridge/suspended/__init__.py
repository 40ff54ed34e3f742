"""Resumes and suspends objects that own pods and are in a queue, such as Jobs."""
