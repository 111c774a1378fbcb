"""A function that computes with PyTorch, and exchanges DLPack capsules."""

from torch.utils.dlpack import from_dlpack, to_dlpack


def means(x):
    """Return the mean of each row of x, as a capsule."""
    x = from_dlpack(x)
    return to_dlpack(x.mean(dim=1))
