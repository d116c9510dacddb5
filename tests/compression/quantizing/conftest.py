"""Files of one model in every kind, made once for all tests."""

from types import SimpleNamespace

import pytest

from compression import models
from compression.quantizing.nets import state_of


@pytest.fixture(scope="session")
def residual(tf, tmp_path_factory):
    """Return a model, samples of it, its files by kind, and its state before they were made."""
    from quickfit.compression.quantizing import exported

    model = models.residual()
    model.compile("adam", "mse")
    data = models.data_for(model, 48)
    before, folder = state_of(model), tmp_path_factory.mktemp("files")
    files = {
        kind: exported(model, folder / f"{kind}.tflite", kind, data)
        for kind in ("float32", "float16", "int8", "int8-full")
    }
    return SimpleNamespace(model=model, data=data, files=files, before=before)
