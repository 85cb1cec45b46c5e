"""Functions whose derivative the user defines, and functions that run again in the backward pass."""
