"""Smaller networks with the same optimum: machines that are alike as one, machines that cannot matter left out."""
