"""Keras on another backend is refused."""

import pytest

from quickfit.errors import UsageError
from quickfit.tuning.numerics.backend import require_tensorflow


def test_keras_on_another_backend_is_refused_with_the_way_out():
    require_tensorflow("find_nan", "tensorflow")
    said = "find_nan works .* this is Keras on jax. Set KERAS_BACKEND=tensorflow before keras is"
    with pytest.raises(UsageError, match=said):
        require_tensorflow("find_nan", "jax")
