"""Train a model of PyTorch from a Parquet file of any size: ``python train_torch.py FILE``."""

import sys

import pyarrow.parquet as pq
import torch
from rich.progress import track

import interchange as ix

SIZE = 4096  # rows of a batch


def train(path):
    """Train for one epoch, and return the first and the last loss."""
    file = pq.ParquetFile(path, pre_buffer=False)  # which would read all of it
    width = file.schema_arrow.field("x").type.list_size
    model = torch.nn.Sequential(torch.nn.Linear(width, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    with ix.batches(file.iter_batches(), size=SIZE, drop_last=True) as batches:
        for batch in track(batches, "training", total=file.metadata.num_rows // SIZE):
            x, y = torch.from_dlpack(batch["x"]), torch.from_dlpack(batch["y"])
            loss = torch.nn.functional.mse_loss(model(x)[:, 0], y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses[0], losses[-1]


if __name__ == "__main__":
    print("the loss fell from {:.4f} to {:.4f}".format(*train(sys.argv[1])))
