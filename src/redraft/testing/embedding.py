"""An embedder without a model, for tests that must run offline: hashed runs of letters."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["HashedNgrams"]

_WORD = re.compile(r"\w+")


class HashedNgrams:
    """Vectors of the runs of letters that a text has, hashed to a fixed length.

    Texts with the same stems are neighbours ("deploy" and "deployments"); it knows nothing of meaning. The
    same text has the same vector in every process. The hashing trick with a sign is that of Weinberger et
    al. 2009.

    Args:
        size: the length of a vector.
        letters: how many letters make a run.
        floor: the cosine from which two texts are taken to be about the same.

    Attributes:
        name: the model's name, with what makes its vectors.
        floor: as above.
    """

    def __init__(self, size: int = 512, letters: int = 4, floor: float = 0.45) -> None:
        self.name = f"hashed-ngrams-{letters}-{size}"
        self.floor = floor
        self._size = size
        self._letters = letters

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text, in order; all zero for one without a word."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * self._size
        for run, times in sorted(Counter(self._runs(text)).items()):
            digest = hashlib.blake2b(run.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            value = int.from_bytes(digest, "big")
            # The root, so that a word that is said again and again does not drown the others.
            vector[value // 2 % self._size] += math.sqrt(times) * (1 if value % 2 else -1)
        return vector

    def _runs(self, text: str) -> list[str]:
        words = (f"<{word}>" for word in _WORD.findall(text.casefold()))
        return [
            word[at : at + self._letters]
            for word in words
            for at in range(max(1, len(word) - self._letters + 1))
        ]
