"""A tensor of PyTorch is not an array of JAX."""

import jax
import torch

import interchange as ix

tensor: torch.Tensor = ix.convert(b"abc", "jax")  # error: assignment | reportAssignmentType
array: jax.Array = ix.convert(b"abc", "torch")  # error: assignment | reportAssignmentType
ix.convert(b"abc", "torch").nmupy()  # error: attr-defined | reportAttributeAccessIssue
