"""Train a model in JAX from a Parquet file of any size: ``python train_jax.py FILE``."""

import sys

import jax
import jax.numpy as jnp
import pyarrow.parquet as pq
from rich.progress import track

import interchange as ix

SIZE = 4096  # rows of a batch
RATE = 0.05


def predict(weights, x):
    """Return the targets that a network of two layers predicts."""
    first, bias, last = weights
    return (jnp.maximum(x @ first + bias, 0) @ last)[:, 0]


@jax.jit
def step(weights, x, y):
    """Return the weights after a step of gradient descent, and the loss before it."""
    loss, slopes = jax.value_and_grad(lambda w: ((predict(w, x) - y) ** 2).mean())(weights)
    return [w - RATE * slope for w, slope in zip(weights, slopes, strict=True)], loss


def train(path):
    """Train for one epoch, and return the first and the last loss."""
    file = pq.ParquetFile(path, pre_buffer=False)  # which would read all of it
    width = file.schema_arrow.field("x").type.list_size
    first, last = jax.random.split(jax.random.key(0))
    weights = [
        jax.random.normal(first, (width, 64)) / width**0.5,
        jnp.zeros(64),
        jax.random.normal(last, (64, 1)) / 8,
    ]
    losses = []
    with ix.batches(file.iter_batches(), size=SIZE, drop_last=True) as batches:
        for batch in track(batches, "training", total=file.metadata.num_rows // SIZE):
            x, y = ix.convert(batch["x"], "jax"), ix.convert(batch["y"], "jax")
            weights, loss = step(weights, x, y)
            losses.append(float(loss))  # waits, so that one batch is in use at a time
    return losses[0], losses[-1]


if __name__ == "__main__":
    print("the loss fell from {:.4f} to {:.4f}".format(*train(sys.argv[1])))
