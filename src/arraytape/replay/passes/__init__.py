"""Passes from program to program: each takes one and gives another that computes the same."""
