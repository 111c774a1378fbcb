"""Arrow's columns and the tensors that are in them: what a chunk describes, in and out.

Source: The Arrow C data, stream, device and PyCapsule interfaces; the Arrow columnar format.
"""
