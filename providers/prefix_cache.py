"""The key-value cache of the last generation, kept for a prompt that begins in the same way.

From step to step a conversation only grows, so most of a prompt has been computed before. What is
kept is exact: the tokens that were fed, in order, and nothing that was not.
"""

from collections.abc import Callable, Sequence
from typing import Any


def common_prefix(first: Sequence[int], second: Sequence[int]) -> int:
    """How many tokens both begin with."""
    for index, (left, right) in enumerate(zip(first, second, strict=False)):
        if left != right:
            return index
    return min(len(first), len(second))


def reusable(kept: Sequence[int], prompt: Sequence[int], *, croppable: bool) -> int:
    """How many of the kept tokens serve `prompt`; at least one token of it is left to feed.

    A cache that cannot be cropped serves whole or not at all."""
    reuse = min(common_prefix(kept, prompt), len(prompt) - 1)
    return reuse if croppable or reuse == len(kept) else 0


class PrefixCache:
    """One cache and the tokens that it stands for."""

    def __init__(self, make: Callable[[], Any], *, croppable: bool, enabled: bool = True) -> None:
        """`make` gives an empty cache of the model's kind. One whose layers forget (a sliding
        window) or sum up (a recurrent or convolution state) is not `croppable`."""
        self._make = make
        self._croppable = croppable
        self.enabled = enabled
        self._cache: Any = None
        self._tokens: list[int] = []

    def open(self, prompt: Sequence[int]) -> tuple[Any, int]:
        """The cache to go on with, and how many of the prompt's tokens it holds already."""
        kept = len(self._tokens)
        reuse = reusable(self._tokens, prompt, croppable=self._croppable)
        if self._cache is None or reuse <= 0 or not self.enabled:
            self._cache, reuse = self._make(), 0
        elif reuse < kept:
            self._cache.crop(reuse - kept)  # a negative number: how many tokens go
        self._tokens = list(prompt[:reuse])
        return self._cache, reuse

    def fed(self, tokens: Sequence[int]) -> None:
        """Note that the model has read `tokens` into the cache."""
        self._tokens.extend(tokens)

    def crop(self, tokens: int) -> None:
        """Forget the newest so many tokens; more than none only in a croppable cache."""
        if tokens:
            self._cache.crop(-tokens)
            del self._tokens[-tokens:]

    def drop(self) -> None:
        """Free the cache."""
        self._cache = None
        self._tokens = []
