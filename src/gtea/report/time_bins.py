"""In which of equally long parts of a window times lie, however long the window is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def time_bins(times: NDArray[np.int64], window: tuple[int, int], bins: int) -> NDArray[np.int64]:
    """The number of the bin of each time. The last bin includes the end of the window.

    Args:
        window: The first and last time. It may reach beyond int64, and be longer than int64 can tell.
    """
    first, last = window
    # Differences of int64 fit into uint64, and wrap around to the right one. A product with the bins might not fit.
    first_read = max(first, np.iinfo(np.int64).min)
    since = times.astype(np.uint64) - np.uint64(first_read % (1 << 64))
    elapsed = since.astype(np.float64) + (first_read - first)
    return np.minimum(elapsed * bins // max(last - first, 1), bins - 1).astype(np.int64)
