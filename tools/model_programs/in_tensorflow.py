"""Model programs of TensorFlow's tutorials and Keras's code examples: their layers and train steps.

``in_arraytape.py`` has the same programs.  Random data of the right shapes take the place of data sets,
and random numbers are arguments of a step.  Constants such as slopes are binary fractions, because Keras
rounds them to single precision.
"""

from __future__ import annotations

import math
from typing import Any

import keras
import tensorflow as tf
from keras import layers, losses, optimizers

from . import BETAS, Program, Sizes


def convolutions(filters: int, rate: float) -> list[Any]:
    """Return the layers of a discriminator of images, with twice as many filters in the second."""
    return [
        layers.Conv2D(filters, 5, strides=2, padding="same"),
        layers.LeakyReLU(0.25),
        layers.Dropout(rate),
        layers.Conv2D(2 * filters, 5, strides=2, padding="same"),
        layers.LeakyReLU(0.25),
        layers.Dropout(rate),
    ]


def dcgan(n: Sizes) -> Program:
    """Make the networks and the train step of TensorFlow's tutorial "Deep convolutional GAN"."""
    side, width = n["side"], n["filters"]
    generator = keras.Sequential(
        [
            layers.Dense(side * side * 4 * width, use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(0.25),
            layers.Reshape((side, side, 4 * width)),
            layers.Conv2DTranspose(2 * width, 5, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(0.25),
            layers.Conv2DTranspose(width, 5, strides=2, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(0.25),
            layers.Conv2DTranspose(
                1, 5, strides=2, padding="same", use_bias=False, activation="tanh"
            ),
        ]
    )
    discriminator = keras.Sequential(
        [*convolutions(width, n["dropout"]), layers.Flatten(), layers.Dense(1)]
    )
    cross_entropy = losses.BinaryCrossentropy(from_logits=True)
    generator_optimizer = optimizers.Adam(2.0**-13, **BETAS)
    discriminator_optimizer = optimizers.Adam(2.0**-13, **BETAS)

    def step(images, noise):
        with tf.GradientTape() as generator_tape, tf.GradientTape() as discriminator_tape:
            generated = generator(noise, training=True)
            real, fake = (
                discriminator(images, training=True),
                discriminator(generated, training=True),
            )
            generator_loss = cross_entropy(tf.ones_like(fake), fake)
            discriminator_loss = cross_entropy(tf.ones_like(real), real) + cross_entropy(
                tf.zeros_like(fake), fake
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
            layers.UpSampling2D(2),
            layers.Conv2D(filters, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            activation,
        ]

    generator = keras.Sequential(
        [
            layers.Dense(side * side * 4 * width, use_bias=False),
            layers.BatchNormalization(),
            layers.LeakyReLU(0.25),
            layers.Reshape((side, side, 4 * width)),
            *upsampled(2 * width, layers.LeakyReLU(0.25)),
            *upsampled(1, layers.Activation("tanh")),
            layers.Cropping2D(2),
        ]
    )
    discriminator = keras.Sequential(
        [
            layers.ZeroPadding2D(2),
            *convolutions(width, n["dropout"]),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )
    generator_optimizer = optimizers.Adam(2.0**-12, **BETAS)
    discriminator_optimizer = optimizers.Adam(2.0**-12, **BETAS)

    def gradient_penalty(real, fake, shares):
        mixed = real + shares * (fake - real)
        with tf.GradientTape() as tape:
            tape.watch(mixed)
            scores = discriminator(mixed, training=True)
        slopes = tape.gradient(scores, mixed)
        norms = tf.sqrt(tf.reduce_sum(tf.square(slopes), axis=[1, 2, 3]))
        return tf.reduce_mean((norms - 1.0) ** 2)

    def step(images, noise, shares):
        with tf.GradientTape() as tape:
            fake = generator(noise, training=True)
            scores = discriminator(fake, training=True), discriminator(images, training=True)
            cost = tf.reduce_mean(scores[0]) - tf.reduce_mean(scores[1])
            discriminator_loss = cost + 10.0 * gradient_penalty(images, fake, shares)
        variables = discriminator.trainable_variables
        slopes = tape.gradient(discriminator_loss, variables)
        discriminator_optimizer.apply_gradients(zip(slopes, variables, strict=True))
        with tf.GradientTape() as tape:
            generated = generator(noise, training=True)
            generator_loss = -tf.reduce_mean(discriminator(generated, training=True))
        variables = generator.trainable_variables
        slopes = tape.gradient(generator_loss, variables)
        generator_optimizer.apply_gradients(zip(slopes, variables, strict=True))
        return generator_loss, discriminator_loss

    image = 4 * side - 4, 4 * side - 4, 1
    return Program([(generator, (1, n["noise"])), (discriminator, (1, *image))], step)


def cvae(n: Sizes) -> Program:
    """Make the networks and the train step of TensorFlow's tutorial "Convolutional VAE"."""
    side, width = n["side"], n["filters"]
    encoder = keras.Sequential(
        [
            layers.Conv2D(width, 3, strides=2, activation="relu"),
            layers.Conv2D(2 * width, 3, strides=2, activation="relu"),
            layers.Flatten(),
            layers.Dense(2 * n["noise"]),
        ]
    )
    decoder = keras.Sequential(
        [
            layers.Dense(side * side * width, activation="relu"),
            layers.Reshape((side, side, width)),
            layers.Conv2DTranspose(2 * width, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2DTranspose(width, 3, strides=2, padding="same", activation="relu"),
            layers.Conv2DTranspose(1, 3, padding="same"),
        ]
    )
    optimizer = optimizers.Adam(2.0**-13, **BETAS)

    def log_normal(sample, mean, logvar):
        terms = -0.5 * ((sample - mean) ** 2 * tf.exp(-logvar) + logvar + math.log(2.0 * math.pi))
        return tf.reduce_sum(terms, axis=1)

    def step(images, noise):
        with tf.GradientTape() as tape:
            mean, logvar = tf.split(encoder(images), 2, axis=1)
            z = mean + noise * tf.exp(logvar * 0.5)
            logits = decoder(z)
            entropies = tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=images)
            log_likelihood = -tf.reduce_sum(entropies, axis=[1, 2, 3])
            prior = log_normal(z, tf.zeros_like(z), tf.zeros_like(z))
            loss = -tf.reduce_mean(log_likelihood + prior - log_normal(z, mean, logvar))
        variables = [*encoder.trainable_variables, *decoder.trainable_variables]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return Program([(encoder, (1, 4 * side, 4 * side, 1)), (decoder, (1, n["noise"]))], step)


class ActorCritic(keras.Model):
    """The scores of the actions, and the value that the critic expects."""

    def __init__(self, actions, units):
        super().__init__()
        self.common = layers.Dense(units, activation="relu")
        self.actor = layers.Dense(actions)
        self.critic = layers.Dense(1)

    def call(self, states):
        x = self.common(states)
        return self.actor(x), self.critic(x)


def actor_critic(n: Sizes) -> Program:
    """Make the model and the train step of TensorFlow's tutorial "Playing CartPole"."""
    model, optimizer = ActorCritic(2, n["units"]), optimizers.Adam(2.0**-7, **BETAS)
    huber = losses.Huber(reduction="sum")

    def step(states, actions, rewards):
        with tf.GradientTape() as tape:
            chosen, values, returns, total = [], [], [], 0.0
            for time in range(n["times"]):
                logits, value = model(states[time : time + 1])
                chosen.append(tf.nn.softmax(logits)[0, actions[time]])
                values.append(value[0, 0])
            for time in reversed(range(n["times"])):
                total = rewards[time] + 0.99 * total
                returns.append(total)
            returns = tf.stack(returns[::-1])
            spread = tf.math.reduce_std(returns) + 1e-7
            returns = ((returns - tf.reduce_mean(returns)) / spread)[:, None]
            values, chosen = tf.stack(values)[:, None], tf.stack(chosen)[:, None]
            actor_loss = -tf.reduce_sum(tf.math.log(chosen) * (returns - values))
            loss = actor_loss + huber(returns, values)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return Program([(model, (1, 4))], step)


def siamese(n: Sizes) -> Program:
    """Make the networks and the train step of Keras's example "Siamese network, contrastive loss"."""
    embedding = keras.Sequential(
        [
            layers.BatchNormalization(),
            layers.Conv2D(n["filters"], 5, activation="tanh"),
            layers.AveragePooling2D(2),
            layers.Conv2D(4 * n["filters"], 5, activation="tanh"),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.BatchNormalization(),
            layers.Dense(10, activation="tanh"),
        ]
    )
    head = keras.Sequential([layers.BatchNormalization(), layers.Dense(1, activation="sigmoid")])
    optimizer = optimizers.RMSprop(2.0**-10, rho=0.875)

    def step(first, second, labels):
        with tf.GradientTape() as tape:
            towers = embedding(first, training=True), embedding(second, training=True)
            squares = tf.reduce_sum(tf.square(towers[0] - towers[1]), axis=1, keepdims=True)
            y = head(tf.sqrt(tf.maximum(squares, 1e-7)), training=True)
            margin = tf.square(tf.maximum(1.0 - y, 0.0))
            loss = tf.reduce_mean((1.0 - labels) * tf.square(y) + labels * margin)
        variables = [*embedding.trainable_variables, *head.trainable_variables]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return Program([(embedding, (1, n["side"], n["side"], 1)), (head, (1, 1))], step)


class Notes(keras.Model):
    """The pitch, step and duration of the next note after a sequence of notes."""

    def __init__(self, units, pitches):
        super().__init__()
        self.lstm = layers.LSTM(units)
        self.pitch = layers.Dense(pitches)
        self.step = layers.Dense(1)
        self.duration = layers.Dense(1)

    def call(self, notes):
        x = self.lstm(notes)
        return self.pitch(x), self.step(x), self.duration(x)


def music(n: Sizes) -> Program:
    """Make the model and the train step of TensorFlow's tutorial "Generate music with an RNN"."""
    model, optimizer = Notes(n["units"], n["pitches"]), optimizers.Adam(2.0**-8, **BETAS)
    entropy = losses.SparseCategoricalCrossentropy(from_logits=True)

    def positive_error(true, predicted):
        pressure = 10.0 * tf.maximum(-predicted, 0.0)
        return tf.reduce_mean((true - predicted) ** 2 + pressure)

    def step(notes, pitches, steps, durations):
        with tf.GradientTape() as tape:
            pitch, next_step, duration = model(notes)
            loss = 0.05 * entropy(pitches, pitch)
            loss += positive_error(steps, next_step) + positive_error(durations, duration)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    return Program([(model, (1, n["times"], 3))], step)
