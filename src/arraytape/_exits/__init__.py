"""Find gradients that lack a part because a value was converted, as by ``float(x)``.  See README.md."""
