"""quickfit: why is this Keras/TensorFlow training slow, stuck or slowing down.

`import quickfit` loads no TensorFlow.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
