"""Model programs of TensorFlow's tutorials and Keras's code examples, over arraytape.

The program of the same name in ``in_tensorflow.py`` differs in the names of functions, and in an index.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import arraytape as xp
from arraytape import nn, optimizers

from . import BETAS, Program, Sizes


def convolutions(filters: int, rate: float) -> list[Any]:
    """Return the layers of a discriminator of images, with twice as many filters in the second."""
    return [
        nn.Conv2D(filters, 5, strides=2, padding="same"),
        nn.LeakyReLU(0.25),
        nn.Dropout(rate),
        nn.Conv2D(2 * filters, 5, strides=2, padding="same"),
        nn.LeakyReLU(0.25),
        nn.Dropout(rate),
    ]


def dcgan(n: Sizes) -> Program:
    """Make the networks and the train step of TensorFlow's tutorial "Deep convolutional GAN"."""
    side, width = n["side"], n["filters"]
    generator = nn.Sequential(
        [
            nn.Dense(side * side * 4 * width, use_bias=False),
            nn.BatchNormalization(),
            nn.LeakyReLU(0.25),
            nn.Reshape((side, side, 4 * width)),
            nn.Conv2DTranspose(2 * width, 5, padding="same", use_bias=False),
            nn.BatchNormalization(),
            nn.LeakyReLU(0.25),
            nn.Conv2DTranspose(width, 5, strides=2, padding="same", use_bias=False),
            nn.BatchNormalization(),
            nn.LeakyReLU(0.25),
            nn.Conv2DTranspose(1, 5, strides=2, padding="same", use_bias=False, activation="tanh"),
        ]
    )
    discriminator = nn.Sequential([*convolutions(width, n["dropout"]), nn.Flatten(), nn.Dense(1)])
    cross_entropy = nn.losses.BinaryCrossentropy(from_logits=True)
    generator_optimizer = optimizers.Adam(2.0**-13, **BETAS)
    discriminator_optimizer = optimizers.Adam(2.0**-13, **BETAS)

    def step(images, noise):
        with xp.GradientTape() as generator_tape, xp.GradientTape() as discriminator_tape:
            generated = generator(noise, training=True)
            real, fake = (
                discriminator(images, training=True),
                discriminator(generated, training=True),
            )
            generator_loss = cross_entropy(xp.ones_like(fake), fake)
            discriminator_loss = cross_entropy(xp.ones_like(real), real) + cross_entropy(
                xp.zeros_like(fake), fake
            )
        variables = generator.trainable_variables
        slopes = generator_tape.gradient(generator_loss, variables)
        generator_optimizer.apply_gradients(zip(slopes, variables, strict=True))
        variables = discriminator.trainable_variables
        slopes = discriminator_tape.gradient(discriminator_loss, variables)
        discriminator_optimizer.apply_gradients(zip(slopes, variables, strict=True))
        return generator_loss, discriminator_loss

    image = 4 * side, 4 * side, 1
    return Program([(generator, (1, n["noise"])), (discriminator, (1, *image))], step)


def wgan_gp(n: Sizes) -> Program:
    """Make the networks and the train step of Keras's example "WGAN-GP"."""
    side, width = n["side"], n["filters"]

    def upsampled(filters, activation):
        return [
            nn.UpSampling2D(2),
            nn.Conv2D(filters, 3, padding="same", use_bias=False),
            nn.BatchNormalization(),
            activation,
        ]

    generator = nn.Sequential(
        [
            nn.Dense(side * side * 4 * width, use_bias=False),
            nn.BatchNormalization(),
            nn.LeakyReLU(0.25),
            nn.Reshape((side, side, 4 * width)),
            *upsampled(2 * width, nn.LeakyReLU(0.25)),
            *upsampled(1, nn.tanh),
            nn.Cropping2D(2),
        ]
    )
    discriminator = nn.Sequential(
        [
            nn.ZeroPadding2D(2),
            *convolutions(width, n["dropout"]),
            nn.Flatten(),
            nn.Dense(1),
        ]
    )
    generator_optimizer = optimizers.Adam(2.0**-12, **BETAS)
    discriminator_optimizer = optimizers.Adam(2.0**-12, **BETAS)

    def gradient_penalty(real, fake, shares):
        mixed = real + shares * (fake - real)
        with xp.GradientTape() as tape:
            tape.watch(mixed)
            scores = discriminator(mixed, training=True)
        slopes = tape.gradient(scores, mixed)
        norms = xp.sqrt(xp.sum(xp.square(slopes), axis=(1, 2, 3)))
        return xp.mean((norms - 1.0) ** 2)

    def step(images, noise, shares):
        with xp.GradientTape() as tape:
            fake = generator(noise, training=True)
            scores = discriminator(fake, training=True), discriminator(images, training=True)
            cost = xp.mean(scores[0]) - xp.mean(scores[1])
            discriminator_loss = cost + 10.0 * gradient_penalty(images, fake, shares)
        variables = discriminator.trainable_variables
        slopes = tape.gradient(discriminator_loss, variables)
        discriminator_optimizer.apply_gradients(zip(slopes, variables, strict=True))
        with xp.GradientTape() as tape:
            generated = generator(noise, training=True)
            generator_loss = -xp.mean(discriminator(generated, training=True))
        variables = generator.trainable_variables
        slopes = tape.gradient(generator_loss, variables)
        generator_optimizer.apply_gradients(zip(slopes, variables, strict=True))
        return generator_loss, discriminator_loss

    image = 4 * side - 4, 4 * side - 4, 1
    return Program([(generator, (1, n["noise"])), (discriminator, (1, *image))], step)


def cvae(n: Sizes) -> Program:
    """Make the networks and the train step of TensorFlow's tutorial "Convolutional VAE"."""
    side, width = n["side"], n["filters"]
    encoder = nn.Sequential(
        [
            nn.Conv2D(width, 3, strides=2, activation="relu"),
            nn.Conv2D(2 * width, 3, strides=2, activation="relu"),
            nn.Flatten(),
            nn.Dense(2 * n["noise"]),
        ]
    )
    decoder = nn.Sequential(
        [
            nn.Dense(side * side * width, activation="relu"),
            nn.Reshape((side, side, width)),
            nn.Conv2DTranspose(2 * width, 3, strides=2, padding="same", activation="relu"),
            nn.Conv2DTranspose(width, 3, strides=2, padding="same", activation="relu"),
            nn.Conv2DTranspose(1, 3, padding="same"),
        ]
    )
    optimizer = optimizers.Adam(2.0**-13, **BETAS)

    def log_normal(sample, mean, logvar):
        terms = -0.5 * ((sample - mean) ** 2 * xp.exp(-logvar) + logvar + math.log(2.0 * math.pi))
        return xp.sum(terms, axis=1)

    def step(images, noise):
        with xp.GradientTape() as tape:
            mean, logvar = np.split(encoder(images), 2, axis=1)
            z = mean + noise * xp.exp(logvar * 0.5)
            logits = decoder(z)
            entropies = nn.softplus(logits) - images * logits
            log_likelihood = -xp.sum(entropies, axis=(1, 2, 3))
            prior = log_normal(z, xp.zeros_like(z), xp.zeros_like(z))
            loss = -xp.mean(log_likelihood + prior - log_normal(z, mean, logvar))
        variables = [*encoder.trainable_variables, *decoder.trainable_variables]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return Program([(encoder, (1, 4 * side, 4 * side, 1)), (decoder, (1, n["noise"]))], step)


class ActorCritic(xp.Module):
    """The scores of the actions, and the value that the critic expects."""

    def __init__(self, actions, units):
        super().__init__()
        self.common = nn.Dense(units, activation="relu")
        self.actor = nn.Dense(actions)
        self.critic = nn.Dense(1)

    def call(self, states):
        x = self.common(states)
        return self.actor(x), self.critic(x)


def actor_critic(n: Sizes) -> Program:
    """Make the model and the train step of TensorFlow's tutorial "Playing CartPole"."""
    model, optimizer = ActorCritic(2, n["units"]), optimizers.Adam(2.0**-7, **BETAS)
    huber = nn.losses.Huber(reduction="sum")

    def step(states, actions, rewards):
        with xp.GradientTape() as tape:
            chosen, values, returns, total = [], [], [], 0.0
            for time in range(n["times"]):
                logits, value = model(states[time : time + 1])
                # xp.function would take an integer from actions[time] as a condition of the program.
                chosen.append(nn.softmax(logits)[0, actions[time : time + 1]])
                values.append(value[0, 0])
            for time in reversed(range(n["times"])):
                total = rewards[time] + 0.99 * total
                returns.append(total)
            returns = xp.stack(returns[::-1])
            spread = xp.std(returns) + 1e-7
            returns = ((returns - xp.mean(returns)) / spread)[:, None]
            values, chosen = xp.stack(values)[:, None], xp.stack(chosen)
            actor_loss = -xp.sum(xp.log(chosen) * (returns - values))
            loss = actor_loss + huber(returns, values)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return Program([(model, (1, 4))], step)


def siamese(n: Sizes) -> Program:
    """Make the networks and the train step of Keras's example "Siamese network, contrastive loss"."""
    embedding = nn.Sequential(
        [
            nn.BatchNormalization(),
            nn.Conv2D(n["filters"], 5, activation="tanh"),
            nn.AveragePooling2D(2),
            nn.Conv2D(4 * n["filters"], 5, activation="tanh"),
            nn.AveragePooling2D(2),
            nn.Flatten(),
            nn.BatchNormalization(),
            nn.Dense(10, activation="tanh"),
        ]
    )
    head = nn.Sequential([nn.BatchNormalization(), nn.Dense(1, activation="sigmoid")])
    optimizer = optimizers.RMSprop(2.0**-10, rho=0.875)

    def step(first, second, labels):
        with xp.GradientTape() as tape:
            towers = embedding(first, training=True), embedding(second, training=True)
            squares = xp.sum(xp.square(towers[0] - towers[1]), axis=1, keepdims=True)
            y = head(xp.sqrt(xp.maximum(squares, 1e-7)), training=True)
            margin = xp.square(xp.maximum(1.0 - y, 0.0))
            loss = xp.mean((1.0 - labels) * xp.square(y) + labels * margin)
        variables = [*embedding.trainable_variables, *head.trainable_variables]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return Program([(embedding, (1, n["side"], n["side"], 1)), (head, (1, 1))], step)


class Notes(xp.Module):
    """The pitch, step and duration of the next note after a sequence of notes."""

    def __init__(self, units, pitches):
        super().__init__()
        self.lstm = nn.LSTM(units)
        self.pitch = nn.Dense(pitches)
        self.step = nn.Dense(1)
        self.duration = nn.Dense(1)

    def call(self, notes):
        x = self.lstm(notes)
        return self.pitch(x), self.step(x), self.duration(x)


def music(n: Sizes) -> Program:
    """Make the model and the train step of TensorFlow's tutorial "Generate music with an RNN"."""
    model, optimizer = Notes(n["units"], n["pitches"]), optimizers.Adam(2.0**-8, **BETAS)
    entropy = nn.losses.SparseCategoricalCrossentropy(from_logits=True)

    def positive_error(true, predicted):
        pressure = 10.0 * xp.maximum(-predicted, 0.0)
        return xp.mean((true - predicted) ** 2 + pressure)

    def step(notes, pitches, steps, durations):
        with xp.GradientTape() as tape:
            pitch, next_step, duration = model(notes)
            loss = 0.05 * entropy(pitches, pitch)
            loss += positive_error(steps, next_step) + positive_error(durations, duration)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return Program([(model, (1, n["times"], 3))], step)
