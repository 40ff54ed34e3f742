"""Tests of moves of running pods: planned, put in order, carried out."""
