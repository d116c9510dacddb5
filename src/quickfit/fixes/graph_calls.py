"""The functions of TensorFlow, Keras and Python that mean the same inside a compiled function."""

from __future__ import annotations

# They keep to Python's own structures while a function is traced.
BUILTINS = {
    "zip", "len", "enumerate", "range", "isinstance", "sum", "abs", "list", "tuple", "dict",
    "reversed",
}  # fmt: skip
# Methods of tapes, optimizers, metrics, variables and dicts.
METHODS = {
    "gradient", "jacobian", "batch_jacobian", "watch", "stop_recording", "reset", "apply_gradients",
    "apply", "update_state", "result", "assign", "assign_add", "assign_sub", "get_shape",
    "as_list", "items", "keys", "values", "scale_loss", "get_scaled_loss",
    "get_unscaled_gradients", "compute_loss", "add_loss", "set_shape", "read_value",
}  # fmt: skip
# Parts of a path that make variables, touch files, or have to do with Python itself.
_OUTSIDE = {
    "Variable", "py_function", "numpy_function", "summary", "config", "function", "data", "io",
    "init_scope", "layers", "models", "optimizers", "metrics", "Sequential", "Model", "Input",
    "callbacks", "datasets", "utils", "initializers", "distribute", "saved_model", "train",
    "experimental", "executing_eagerly", "get_static_value", "make_ndarray", "Module", "queue",
    "lookup", "autograph", "backend", "compat", "constraints", "applications", "preprocessing",
    "mixed_precision", "regularizers", "profiler", "debugging", "keras_hub", "keras_cv", "saving",
    "device", "set_seed", "Generator", "get_global_generator", "from_non_deterministic_state",
    "create_rng_state", "set_global_generator", "SeedGenerator", "gfile", "raw_ops", "timestamp",
    "print", "while_loop", "xla", "feature_column", "estimator", "tree", "convert_to_numpy",
    "py_func", "switch_case", "case", "Tensor", "StatelessScope", "quantizers", "export",
    "dtensor", "sysconfig", "tpu", "types", "version", "Graph", "load_op_library", "load_library",
}  # fmt: skip
_MATHS = {
    "ops", "losses", "activations", "random", "math", "nn", "linalg", "image", "signal", "strings",
    "GradientTape", "sparse", "ragged", "bitwise", "sets", "audio", "name_scope",
}  # fmt: skip


def is_graph_path(path: str) -> bool:
    """Tell whether calling `tensorflow.math.exp`, `keras.ops.mean` and so on can be compiled."""
    library, *parts = path.split(".")
    if library not in ("tensorflow", "keras", "tf_keras") or not parts or _OUTSIDE & set(parts):
        return False
    parts = parts[1:] if parts[0] == "keras" else parts
    is_keras = library != "tensorflow" or len(parts) != len(path.split(".")) - 1
    if not parts or (len(parts) > 1 and parts[0] not in _MATHS):
        return False
    return len(parts) > 1 or not is_keras


def is_random_path(path: str) -> bool:
    """Tell whether a function draws numbers that are others in a graph than one by one."""
    last = path.rpartition(".")[2]
    is_random = ".random." in path or "random" in last or last.endswith("dropout")
    return is_random and not path.startswith("keras.") and "stateless" not in last
