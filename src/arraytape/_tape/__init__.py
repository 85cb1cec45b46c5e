"""The tape: recording, the backward pass and its guard, Jacobians, forward mode."""
