"""The subjects that ship with the kit: one module per library, each with an object ``subject``.

Source: each library's documentation.
"""
