from __future__ import annotations

import base64
import gzip
import hashlib
import socket
import threading
import time
from importlib import resources

import pytest
import tiktoken
import tiktoken.registry
import tiktoken_ext.openai_public

from redraft.errors import TokenizerError
from redraft.tokens import o200k_base, vocabulary
from redraft.tokens.vocabulary import SPECIAL_TOKENS, SPLIT_PATTERN, build_encoding

PACKED = resources.files("redraft.tokens").joinpath("data/o200k_base.tiktoken.gz").read_bytes()


@pytest.fixture
def nothing_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "_built", [])


def test_every_token_stands_at_its_published_rank() -> None:
    encoding = o200k_base()
    lines = [
        base64.b64encode(encoding.decode_single_token_bytes(rank)) + b" %d\n" % rank
        for rank in range(199_998)
    ]
    published = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
    assert hashlib.sha256(b"".join(lines)).hexdigest() == published


def test_pattern_and_special_tokens_are_those_that_tiktoken_publishes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_download(*args: object, **kwargs: object) -> dict[bytes, int]:
        return {}

    monkeypatch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", no_download)
    published = tiktoken_ext.openai_public.o200k_base()
    assert published["pat_str"] == SPLIT_PATTERN
    assert published["special_tokens"] == SPECIAL_TOKENS


def test_known_text_has_known_ids() -> None:
    assert o200k_base().encode_ordinary("hello world") == [24912, 2375]
    assert o200k_base().n_vocab == 200_019


def test_building_opens_no_socket_and_leaves_tiktokens_registry_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        pytest.fail("the vocabulary was looked for on the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    assert build_encoding(PACKED).encode_ordinary("hello world") == [24912, 2375]
    assert "o200k_base" not in tiktoken.registry.ENCODINGS


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"version https://git-lfs.github.com/spec/v1\n", id="not gzip"),
        pytest.param(PACKED[:-9], id="cut short"),
        pytest.param(PACKED[:100_000] + b"\0" + PACKED[100_001:], id="one byte changed"),
        pytest.param(gzip.compress(b"IQ== 0\n"), id="another vocabulary"),
    ],
)
def test_a_damaged_vocabulary_is_refused_and_the_message_says_to_reinstall(damaged: bytes) -> None:
    with pytest.raises(TokenizerError, match="reinstall it with `pip install"):
        build_encoding(damaged)


@pytest.mark.usefixtures("nothing_built")
def test_a_missing_vocabulary_is_refused_and_the_message_says_to_reinstall(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vocabulary, "_FILE", "gone.tiktoken.gz")
    with pytest.raises(TokenizerError, match=r"gone\.tiktoken\.gz .* reinstall it"):
        o200k_base()


@pytest.mark.usefixtures("nothing_built")
def test_many_threads_at_once_build_the_encoding_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built = _slow_builds(monkeypatch)
    seen: list[tiktoken.Encoding] = []
    threads = [threading.Thread(target=lambda: seen.append(o200k_base())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(built) == 1
    assert len(seen) == 8
    assert all(encoding is built[0] for encoding in seen)


def test_the_second_call_returns_the_same_encoding() -> None:
    assert o200k_base() is o200k_base()


def _slow_builds(monkeypatch: pytest.MonkeyPatch) -> list[tiktoken.Encoding]:
    built: list[tiktoken.Encoding] = []

    def build(packed: bytes) -> tiktoken.Encoding:
        time.sleep(0.05)
        small = tiktoken.Encoding(
            "small", pat_str=".", mergeable_ranks={b"a": 0}, special_tokens={"<end>": 1}
        )
        built.append(small)
        return small

    monkeypatch.setattr(vocabulary, "build_encoding", build)
    return built
