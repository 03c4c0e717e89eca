"""The o200k_base vocabulary, from the file that ships with redraft: never from the network.

tiktoken downloads a vocabulary at its first use, which fails behind a firewall and stalls a first
request everywhere else. Here its `Encoding` is built from bytes that are already on the disk.
"""

from __future__ import annotations

import binascii
import gzip
import hashlib
import threading
import zlib
from importlib import resources
from typing import TYPE_CHECKING

from redraft.errors import TokenizerError

if TYPE_CHECKING:
    import tiktoken

__all__ = ["ENCODING", "SPECIAL_TOKENS", "SPLIT_PATTERN", "build_encoding", "o200k_base"]

ENCODING = "o200k_base"
"""The name of the one encoding that redraft counts with."""

SPECIAL_TOKENS = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}
"""Special tokens and their ids, as tiktoken publishes them. Counting never produces one."""

_WORD_HEAD = r"[^\r\n\p{L}\p{N}]?"
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"

SPLIT_PATTERN = "|".join(
    (
        f"{_WORD_HEAD}{_UPPER}*{_LOWER}+{_CONTRACTION}",
        f"{_WORD_HEAD}{_UPPER}+{_LOWER}*{_CONTRACTION}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)
"""How text is split before merging: a fact of the encoding, as tiktoken publishes it."""

_FILE = "o200k_base.tiktoken.gz"
_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

_lock = threading.Lock()
_built: list[tiktoken.Encoding] = []


def o200k_base() -> tiktoken.Encoding:
    """The o200k_base encoding, built at the first call and kept for the life of the process.

    Safe to call from many threads: one of them builds, the others wait (about 0.4 s).

    Raises:
        TokenizerError: the file that ships with redraft is missing or damaged.
    """
    if not _built:
        with _lock:
            if not _built:
                _built.append(build_encoding(_read()))
    return _built[0]


def build_encoding(packed: bytes) -> tiktoken.Encoding:
    """Build the encoding from the gzipped vocabulary file.

    Args:
        packed: the content of `data/o200k_base.tiktoken.gz`.

    Raises:
        TokenizerError: the bytes are not the vocabulary that OpenAI published.
    """
    ranks = _ranks(_checked(packed))
    # Imported late: tiktoken pulls in requests and regex, which nobody needs where quicktok counts.
    import tiktoken

    return tiktoken.Encoding(
        ENCODING, pat_str=SPLIT_PATTERN, mergeable_ranks=ranks, special_tokens=SPECIAL_TOKENS
    )


def _read() -> bytes:
    try:
        return resources.files("redraft.tokens").joinpath("data", _FILE).read_bytes()
    except OSError as error:
        raise _damaged(f"cannot be read ({error.strerror or error})") from error


def _checked(packed: bytes) -> bytes:
    try:
        plain = gzip.decompress(packed)
    except (OSError, EOFError, zlib.error) as error:
        raise _damaged("cannot be unpacked") from error
    if hashlib.sha256(plain).hexdigest() != _SHA256:
        raise _damaged("does not have the published SHA-256")
    return plain


def _ranks(plain: bytes) -> dict[bytes, int]:
    """Token bytes by rank. The checksum holds, so a token's rank is the number of its line."""
    # Everything inside C calls. Slicing line by line, or splitting with a regular expression, took
    # as long or longer (docs/design/tokens.md).
    tokens = plain.split()[::2]
    return dict(zip(map(binascii.a2b_base64, tokens), range(len(tokens)), strict=True))


def _damaged(what: str) -> TokenizerError:
    return TokenizerError(
        f"the vocabulary {_FILE} that ships with redraft {what}; "
        "reinstall it with `pip install --force-reinstall redraft`."
    )
