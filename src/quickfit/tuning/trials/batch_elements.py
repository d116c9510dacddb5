"""Single batches: how many rows one has, how large it is, and some of them as a data set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from quickfit.errors import ModelError


def batch_rows(element: Any) -> int:  # Any: a nest of tensors or arrays
    """Return how many samples a batch has.

    Raises:
        ModelError: its parts are no batches.
    """
    import tensorflow as tf

    leaves = tf.nest.flatten(element)
    if not leaves or any(len(leaf.shape) == 0 for leaf in leaves):
        raise ModelError(
            "the data come one sample at a time, and training needs batches. At the end of the "
            "pipeline, add\n    dataset = dataset.batch(32)"
        )
    return _leaf_rows(leaves[0])


def has_labels(element: Any) -> bool:
    """Return whether a batch has something beside the inputs, as Keras sees it."""
    return isinstance(element, tuple) and len(element) > 1


def require_samples(samples: int, batch: int) -> None:
    """See that there are enough samples for one batch.

    Raises:
        ModelError: there are not.
    """
    if batch > samples:
        raise ModelError(f"a batch of {batch:,} needs more samples than there are ({samples:,}).")


def _leaf_rows(leaf: Any) -> int:
    import tensorflow as tf

    if isinstance(leaf, tf.RaggedTensor):
        return int(leaf.nrows())
    if isinstance(leaf, tf.SparseTensor):
        return int(leaf.dense_shape[0])
    return int(leaf.shape[0])


def element_bytes(element: Any) -> int:
    """Return the memory of a batch."""
    import tensorflow as tf

    dense = tf.nest.flatten(element, expand_composites=True)
    return sum(int(getattr(leaf, "nbytes", 0) or _tensor_bytes(leaf)) for leaf in dense)


def _tensor_bytes(leaf: Any) -> int:
    return int(leaf.shape.num_elements() or 0) * int(leaf.dtype.size)


def as_dataset(elements: list[Any]) -> Any:
    """Return batches that are held in memory as a `tf.data.Dataset` of them."""
    import tensorflow as tf

    plain = [as_tuples(element) for element in elements]
    if _are_alike(plain):
        return _stack_elements(plain)
    if _are_alike(plain[:-1]):
        # The last batch of an epoch is smaller.
        return _stack_elements(plain[:-1]).concatenate(_stack_elements(plain[-1:]))
    signature = tf.nest.map_structure(_any_shape, plain[0])
    return tf.data.Dataset.from_generator(lambda: iter(plain), output_signature=signature)


def _stack_elements(elements: list[Any]) -> Any:
    import tensorflow as tf

    stacked = tf.nest.map_structure(lambda *leaves: tf.stack(leaves), *elements)
    return tf.data.Dataset.from_tensor_slices(stacked)


def _are_alike(elements: list[Any]) -> bool:
    import tensorflow as tf

    kinds = (tf.RaggedTensor, tf.SparseTensor)
    if not elements or any(isinstance(leaf, kinds) for leaf in tf.nest.flatten(elements)):
        return False
    shapes = [[tuple(leaf.shape) for leaf in tf.nest.flatten(element)] for element in elements]
    return all(shape == shapes[0] for shape in shapes)


def _any_shape(leaf: Any) -> Any:
    import tensorflow as tf

    if isinstance(leaf, tf.RaggedTensor):
        shape = [None] * len(leaf.shape)
        return tf.RaggedTensorSpec(shape, leaf.dtype, leaf.ragged_rank, leaf.row_splits.dtype)
    if isinstance(leaf, tf.SparseTensor):
        return tf.SparseTensorSpec([None] * len(leaf.shape), leaf.dtype)
    return tf.TensorSpec([None] * len(leaf.shape), leaf.dtype)


def as_tuples(element: Any) -> Any:
    """Return a batch with tuples for lists, and without missing weights.

    tf.data takes a list for one tensor.
    """
    if isinstance(element, list | tuple):
        return tuple(as_tuples(part) for part in element if part is not None)
    if isinstance(element, dict):
        return {name: as_tuples(part) for name, part in element.items()}
    return element


def first_rows(elements: Iterable[Any], most: int, most_bytes: int) -> Iterator[Any]:
    """Yield batches until there are so many samples, the last one cut to fit."""
    left, left_bytes = most, most_bytes
    for element in elements:
        count = min(batch_rows(element), left)
        yield _cut_element(element, count)
        left -= count
        left_bytes -= element_bytes(element)
        if left <= 0 or left_bytes <= 0:
            return


def _cut_element(element: Any, count: int) -> Any:
    import tensorflow as tf

    def cut(leaf: Any) -> Any:
        if isinstance(leaf, tf.SparseTensor):
            shape = [count, *leaf.dense_shape.numpy()[1:]]
            return tf.sparse.slice(leaf, [0] * len(shape), shape)
        return leaf[:count]

    return element if batch_rows(element) == count else tf.nest.map_structure(cut, element)


def describe_value(value: object) -> str:
    """Return what something is, for a message."""
    if isinstance(value, tuple | list):
        inner = ", ".join(type(part).__name__ for part in value[:5])
        return f"a {type(value).__name__} of {len(value)} ({inner})"
    return "nothing (None)" if value is None else f"a {type(value).__name__}"
