"""Arrow's columns and the tensors that are in them: import and export of chunks.

Source: The Arrow C data, stream, device and PyCapsule interfaces; the Arrow columnar format.
"""
