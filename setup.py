"""Builds the one compiled part; everything else is in pyproject.toml.

Without a compiler the install goes on: `quickfit.data.pixels` then resizes with Pillow.
"""

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "quickfit.data.pixels._resample",
            ["src/quickfit/data/pixels/_resample.c"],
            extra_compile_args=["-O3"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,
        )
    ]
)
