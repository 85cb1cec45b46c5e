"""Functions that tests run in other processes, which import them by name."""

import arraytape as xp


def gradient_of_squares(x):
    """Return the gradient of sum(x ** 2), on a tape of the process that runs it."""
    with xp.GradientTape() as tape:
        tape.watch(x)
        y = xp.sum(x * x)
    return tape.gradient(y, x)


def gradients_of_a_model(model, data):
    """Return the gradients of sum(model(data) ** 2) with respect to the trainable Variables."""
    with xp.GradientTape() as tape:
        loss = xp.sum(model(data) ** 2)
    return tape.gradient(loss, model.trainable_variables)
