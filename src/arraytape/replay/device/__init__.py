"""Programs on a GPU: split from their part on the host, fused into kernels, captured in a CUDA graph."""
