"""Builds the two compiled parts and names the command; everything else is in pyproject.toml.

Without a compiler the install goes on: `quickfit.data.pixels` then resizes with Pillow, and
`quickfit.probes` samples stacks in Python.
"""

from setuptools import Extension, setup

_PIXELS = "src/quickfit/data/pixels"

setup(
    scripts=["bin/quickfit"],
    ext_modules=[
        Extension(
            "quickfit.data.pixels._resample",
            [f"{_PIXELS}/_resample.c"],
            depends=[f"{_PIXELS}/_vectors.h", f"{_PIXELS}/_weights.h"],
            # Fused multiply-add would round the weights differently on another processor.
            extra_compile_args=["-O3", "-ffp-contract=off"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,
        ),
        Extension(
            "quickfit.probes._frames",
            ["src/quickfit/probes/_frames.c"],
            extra_compile_args=["-O2"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,
        ),
    ],
    # One wheel for all versions of Python that are supported.
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
