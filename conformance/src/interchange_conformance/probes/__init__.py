"""What checks look at a library with: its arrays, its capsules, its imports, pending work.

They judge nothing: what is wrong is for the checks to say.
"""
