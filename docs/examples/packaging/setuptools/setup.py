"""The extension; everything else is in pyproject.toml."""

import sysconfig

from setuptools import Extension, setup

import interchange

# Free-threaded CPython has no limited API before 3.15
LIMITED = not sysconfig.get_config_var("Py_GIL_DISABLED")

extension = Extension(
    "total_plain",
    ["total_plain.c"],
    include_dirs=[interchange.get_include()],
    py_limited_api=LIMITED,
)
setup(
    ext_modules=[extension],
    options={"bdist_wheel": {"py_limited_api": "cp310"}} if LIMITED else {},
)
