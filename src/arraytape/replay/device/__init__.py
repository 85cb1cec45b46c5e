"""Programs on a device: split from their part on the host, fused into kernels, captured in a graph."""
