"""A kernel as the product of a depthwise and a pointwise one, as good as its rank allows."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def split(kernel: npt.ArrayLike, rank: int) -> tuple[Array, Array]:
    """Return depthwise filters and pointwise weights whose product is closest to a kernel.

    Channel by channel, a singular value decomposition: the best `rank` filters for the weights
    alone. All of them (rank = height · width) give the kernel itself.

    Args:
        kernel: (height, width, channels, outputs).
        rank: how many filters per channel.

    Returns:
        The depthwise kernel (height, width, channels, rank), each filter of norm 1, and the
        pointwise one (channels · rank, outputs).
    """
    whole = np.asarray(kernel, np.float64)
    height, width, channels, outputs = whole.shape
    each = whole.reshape(height * width, channels, outputs).swapaxes(0, 1)
    left, values, right = np.linalg.svd(each, full_matrices=False)
    filters = left[:, :, :rank].swapaxes(0, 1).reshape(height, width, channels, rank)
    weights = values[:, :rank, None] * right[:, :rank]
    return filters, weights.reshape(channels * rank, outputs)
