"""Numbers drawn at random that are the same on every machine, whatever its Python, numpy and CPU.

numpy promises the raw words of its bit generators for good, and no more: neither its distributions nor logarithms and
powers, which libraries and CPUs round each in their own way. So all is made here of whole numbers, and of sums,
differences, products and quotients, which are rounded alike everywhere.
"""

import hashlib
from itertools import accumulate
from math import prod

import numpy as np
from numpy.typing import NDArray

Shape = int | tuple[int, ...]
Numbers = NDArray[np.floating]
WORD, HALF_WORD = 2**32, 2**16
PARTS = 12  # of a bell: the sum of so many even numbers has a variance of 1


class Stream:
    """A stream of numbers for one purpose, which its key names: another key is another stream."""

    def __init__(self, *key: int | str) -> None:
        digest = hashlib.sha256("/".join(map(str, key)).encode()).digest()
        self._bits = np.random.Philox(key=int.from_bytes(digest[:16], "little"))

    def words(self, shape: Shape) -> NDArray[np.uint32]:
        """Whole numbers below 2^32."""
        return self._words(shape, "<u4", 2).astype(np.uint32, copy=False)

    def _words(self, shape: Shape, kind: str, in_one: int) -> NDArray[np.unsignedinteger]:
        count = prod(shape) if isinstance(shape, tuple) else shape
        raw = np.asarray(self._bits.random_raw(-(-count // in_one)), np.uint64)
        return raw.astype("<u8").view(kind)[:count].reshape(shape)

    def below(self, most: int | NDArray[np.int64], shape: Shape) -> NDArray[np.int64]:
        """Whole numbers from 0 to below `most`, which is 2^31 at the most and broadcasts against the shape."""
        return (self.words(shape).astype(np.uint64) * np.asarray(most, np.uint64) >> np.uint64(32)).astype(np.int64)

    def one_below(self, most: int) -> int:
        return int(self.below(most, 1)[0])

    def small(self, most: int, shape: Shape) -> NDArray[np.uint8]:
        """Whole numbers from 0 to below `most`, of 256 at the most."""
        return (self._words(shape, "<u2", 4).astype(np.uint32) * np.uint32(most) >> np.uint32(16)).astype(np.uint8)

    def hits(self, share: float | Numbers, shape: Shape) -> NDArray[np.bool_]:
        """What is true of a share of it; `share` broadcasts against the shape."""
        return self.words(shape) < threshold(share)

    def evenly(self, low: float, high: float, shape: Shape) -> NDArray[np.float64]:
        """Numbers from `low` to below `high`."""
        return low + (high - low) * (self.words(shape) / WORD)

    def bell(self, shape: Shape) -> NDArray[np.float64]:
        """Numbers around 0 with a standard deviation of 1, none of them beyond 6."""
        whole = (shape,) if isinstance(shape, int) else shape
        parts = self._words((*whole, PARTS), "<u2", 4)
        return (2 * parts.sum(axis=-1, dtype=np.int64) - PARTS * (HALF_WORD - 1)) / (2 * HALF_WORD)

    def geometric(self, chance: float, most: int, shape: Shape) -> NDArray[np.int64]:
        """How many trials it takes, `most` at the most, where each succeeds at the same chance."""
        bounds = threshold(1 - np.array(list(accumulate([1 - chance] * (most - 1), lambda all_of, one: all_of * one))))
        return 1 + np.searchsorted(bounds, self.words(shape), side="right").astype(np.int64)

    def order(self, count: int) -> NDArray[np.int64]:
        """The numbers from 0 to below `count` in random order."""
        keys = self._bits.random_raw(count)
        return np.argsort(keys, kind="stable").astype(np.int64)


def threshold(share: float | Numbers) -> NDArray[np.uint32]:
    """Below which a share of all words lies."""
    return np.minimum(np.floor(np.asarray(share, np.float64) * WORD), WORD - 1).astype(np.uint32)
