"""Tracing: data that computes and records each call, and the Arrays that hold such data."""
