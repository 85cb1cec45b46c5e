"""Tracing: data that computes and notes each call, and the handles that have such data meanwhile."""
