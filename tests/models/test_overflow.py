"""A request that is too large is recognized in the words of every server, and nothing else is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.errors import ContextOverflowError, ModelTimeoutError
from redraft.models import overflow_of
from redraft.models.wordings import WORDINGS
from redraft.testing.faults import OVERFLOWS

# Message, prompt tokens, window. The sources stand in the table of wordings.
OVERFLOWING: list[tuple[str, str, int | None, int | None]] = [
    (
        "openai",
        "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        "204308 tokens. Please reduce the length of the messages.",
        204308,
        128000,
    ),
    (
        "openai with tools",
        "This model's maximum context length is 8192 tokens. However, you requested 8213 tokens "
        "(6683 in the messages, 730 in the functions, and 800 in the completion). Please reduce the "
        "length of the messages, functions, or completion.",
        7413,
        8192,
    ),
    (
        "openai completions",
        "This model's maximum context length is 4097 tokens, however you requested 4569 tokens "
        "(3545 in your prompt; 1024 for the completion). Please reduce your prompt; or completion "
        "length.",
        3545,
        4097,
    ),
    (
        "openai gpt-5",
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in "
        "289650 tokens. Please reduce the length of the messages.",
        289650,
        272000,
    ),
    (
        "openai responses",
        "Your input exceeds the context window of this model. Please adjust your input and try "
        "again.",
        None,
        None,
    ),
    ("openai responses, newer", "Your input exceeds this model’s context window.", None, None),
    (
        "vllm with max_tokens",
        "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens "
        "(112946 in the messages, 10000 in the completion). Please reduce the length of the "
        "messages or completion.",
        112946,
        16384,
    ),
    (
        "vllm, newer",
        "This model's maximum context length is 4096 tokens. However, your request has 5000 input "
        "tokens. Please reduce the length of the input messages.",
        5000,
        4096,
    ),
    (
        "vllm, newest",
        "This model's maximum context length is 262144 tokens. However, you requested 128000 output "
        "tokens and your prompt contains at least 134145 input tokens, for a total of at least "
        "262145 tokens. Please reduce the length of the input prompt or the number of requested "
        "output tokens. (parameter=input_tokens, value=134145)",
        134145,
        262144,
    ),
    (
        "vllm, by characters",
        "This model's maximum context length is 8192 tokens. However, you requested 1024 output "
        "tokens and your prompt contains 914233 characters (more than 57344 characters, which is "
        "the upper bound for 7168 input tokens).",
        None,
        8192,
    ),
    (
        "vllm, max_tokens in front",
        "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's maximum context "
        "length is 8192 tokens and your request has 5000 input tokens (4000 > 8192 - 5000).",
        5000,
        8192,
    ),
    (
        "vllm engine",
        "The decoder prompt (length 21535) is longer than the maximum model length of 16384. Make "
        "sure that `max_model_len` is no smaller than the number of text tokens.",
        21535,
        16384,
    ),
    (
        "vllm engine, newer",
        "Prompt length of 5016 is longer than the maximum model length of 4096.",
        5016,
        4096,
    ),
    (
        "vllm, images",
        "The prompt (total length 25938) is too long to fit into the model (context length 4096).",
        25938,
        4096,
    ),
    (
        "vllm scheduler",
        "Input prompt (32889 tokens) is too long and exceeds limit of 2048",
        32889,
        2048,
    ),
    (
        "llama.cpp",
        "request (32769 tokens) exceeds the available context size (32768 tokens), try increasing "
        "it",
        32769,
        32768,
    ),
    (
        "llama.cpp, older",
        "the request exceeds the available context size. try increasing the context size or enable "
        "context shift",
        None,
        None,
    ),
    ("llama-cpp-python", "Requested tokens (2285) exceed context window of 2048", 2285, 2048),
    (
        "sglang",
        "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
        61709,
        40960,
    ),
    (
        "sglang with max_tokens",
        "Requested token count exceeds the model's maximum context length of 64000 tokens. You "
        "requested a total of 71897 tokens: 62897 tokens from the input messages and 9000 tokens "
        "for the completion.",
        62897,
        64000,
    ),
    (
        "sglang scheduler",
        "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens).",
        160062,
        59862,
    ),
    (
        "gateway",
        "Input length (265330) exceeds model's maximum context length (262144).",
        265330,
        262144,
    ),
    (
        "poolside",
        "Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
        131393,
        131040,
    ),
    ("ollama", "the input length exceeds the context length", None, None),
    ("ollama, older", "input exceeds context length", None, None),
    (
        "ollama, other",
        "prompt too long; exceeded max context length by 100918 tokens",
        None,
        None,
    ),
    (
        "lm studio",
        "Trying to keep the first 111490 tokens when context the overflows. However, the model is "
        "loaded with context length of only 32768 tokens, which is not enough.",
        111490,
        32768,
    ),
    (
        "lm studio, newer",
        "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)",
        15028,
        7424,
    ),
    (
        "lm studio, prose",
        "The number of tokens to keep from the initial prompt is greater than the context length. "
        "Try to load the model with a larger context length, or provide a shorter input",
        None,
        None,
    ),
    (
        "lm studio, in mid-generation",
        "Reached context length of 4096 tokens with model (arch: qwen3vlmoe) that does not "
        "currently support mid-generation context overflow.",
        None,
        4096,
    ),
    ("lm studio, mlx", "Context size has been exceeded.", None, None),
    (
        "tgi",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: 79993 "
        "`inputs` tokens and 1024 `max_new_tokens`",
        79993,
        65537,
    ),
    (
        "tgi, prompt alone",
        "Input validation error: `inputs` must have less than 4096 tokens. Given: 4545",
        4545,
        4096,
    ),
    ("anthropic", "prompt is too long: 208310 tokens > 200000 maximum", 208310, 200000),
    ("anthropic, bare", "Prompt is too long", None, None),
    (
        "anthropic with max_tokens",
        "input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input "
        "length or `max_tokens` and try again",
        199759,
        200000,
    ),
    (
        "anthropic, by bytes",
        "Request exceeds the maximum size",
        None,
        None,
    ),
    (
        "bedrock",
        "The model returned the following errors: Input is too long for requested model.",
        None,
        None,
    ),
    (
        "gemini",
        "The input token count (3475108) exceeds the maximum number of tokens allowed (1048576).",
        3475108,
        1048576,
    ),
    (
        "gemini, without the count",
        "The input token count exceeds the maximum number of tokens allowed 1048576.",
        None,
        1048576,
    ),
    (
        "vertex",
        "Unable to submit request because the input token count is 1251952 but model only supports "
        "up to 1048576. Reduce the input token count and try again.",
        1251952,
        1048576,
    ),
    (
        "mistral",
        "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum "
        "context length",
        65673,
        32768,
    ),
    (
        "xai",
        "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
        136973,
        131072,
    ),
    ("groq", "Please reduce the length of the messages or completion.", None, None),
    (
        "cerebras",
        "Please reduce the length of the messages or completion. Current length is 42328 while "
        "limit is 40000",
        42328,
        40000,
    ),
    (
        "openrouter",
        "This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 "
        "tokens (40832 of text input, 2000 in the output). Please reduce the length of either one, "
        'or use the "middle-out" transform to compress your prompt automatically.',
        40832,
        32768,
    ),
    (
        "deepseek",
        "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens "
        "(122942 in the messages, 8192 in the completion).",
        122942,
        131072,
    ),
    (
        "fireworks",
        "The prompt is too long: 40177, model maximum context length: 32767",
        40177,
        32767,
    ),
    (
        "copilot",
        "prompt token count of 93854 exceeds the limit of 90000",
        93854,
        90000,
    ),
    (
        "kimi",
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)",
        291351,
        262144,
    ),
    ("minimax", "invalid params, context window exceeds limit (2013)", None, None),
    (
        "dashscope",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]",
        None,
        204800,
    ),
    ("z.ai", "Prompt exceeds max length", None, None),
    (
        "cohere",
        "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs. "
        "The limit for this model is 132000 tokens.",
        143326,
        132000,
    ),
    (
        "thousands separators",
        "prompt is too long: 1,208,310 tokens > 1,000,000 maximum",
        1208310,
        1000000,
    ),
]

NOT_OVERFLOWING: list[tuple[str, int, str, str | None]] = [
    (
        "openai, tokens per minute",
        429,
        "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, "
        "Used 29000, Requested 3000. Please try again in 4s.",
        "rate_limit_exceeded",
    ),
    (
        "openai, one request over the rate",
        429,
        "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, "
        "Requested 40532. The input or output tokens must be reduced in order to run successfully.",
        "rate_limit_exceeded",
    ),
    (
        "groq, one request over the rate",
        413,
        "Request too large for model `llama-3.3-70b-versatile` in organization `org_x` service tier "
        "`on_demand` on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your "
        "message size and try again.",
        "rate_limit_exceeded",
    ),
    ("bedrock, throttled", 429, "Too many tokens, please wait before trying again.", None),
    ("throttled without a status", 400, "ThrottlingException: Too many tokens per day", None),
    (
        "anthropic, long context is extra",
        429,
        "Extra usage is required for long context requests.",
        "rate_limit_error",
    ),
    ("quota", 429, "You exceeded your current quota.", "insufficient_quota"),
    (
        "max_tokens beyond the model",
        400,
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, "
        "whereas you provided 100000.",
        "invalid_value",
    ),
    (
        "anthropic, max_tokens beyond the model",
        400,
        "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for "
        "claude-3-5-haiku",
        None,
    ),
    (
        "bedrock, max_tokens beyond the model",
        400,
        "The maximum tokens you requested exceeds the model limit of 32768",
        None,
    ),
    (
        "vllm, max_tokens fills the window",
        400,
        "This model's maximum context length is 8192 tokens. However, you requested 8204 tokens (12 "
        "in the messages, 8192 in the completion). Please reduce the length of the messages or "
        "completion.",
        None,
    ),
    (
        "vllm, max_tokens beyond the window",
        400,
        "'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context "
        "length is 8192 tokens and your request has 500 input tokens (32000 > 8192 - 500).",
        None,
    ),
    (
        "newest vllm, max_tokens fills the window",
        400,
        "This model's maximum context length is 131072 tokens. However, you requested 131072 output "
        "tokens and your prompt contains 14233 characters (more than 0 characters, which is the "
        "upper bound for 0 input tokens).",
        None,
    ),
    (
        "orphan tool message",
        400,
        "Invalid parameter: messages with role 'tool' must be a response to a preceding message "
        "with 'tool_calls'.",
        None,
    ),
    (
        "too many tools",
        400,
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an "
        "array with length 200 instead.",
        "array_above_max_length",
    ),
    ("unknown model", 404, "The model `x` does not exist.", "model_not_found"),
    ("overloaded", 529, "Overloaded", "overloaded_error"),
    ("broken server", 500, "Internal server error", None),
    ("bad key", 401, "Incorrect API key provided.", "invalid_api_key"),
    ("content filter", 400, "The response was filtered.", "content_filter"),
]

IDS = [row[0] for row in OVERFLOWING]


class ClientError(Exception):
    """An error with the attributes that the official clients give theirs."""

    def __init__(self, status: int | None = None, **attributes: Any) -> None:
        super().__init__(attributes.pop("text", ""))
        if status is not None:
            self.status_code = status
        for name, value in attributes.items():
            setattr(self, name, value)


def sizes(error: BaseException) -> tuple[int | None, int | None]:
    found = overflow_of(error)
    assert found is not None
    return found.requested, found.window


@pytest.mark.parametrize(("name", "message", "prompt", "window"), OVERFLOWING, ids=IDS)
def test_a_plain_error_is_read_by_its_text(
    name: str, message: str, prompt: int | None, window: int | None
) -> None:
    assert sizes(RuntimeError(message)) == (prompt, window)


@pytest.mark.parametrize(("name", "message", "prompt", "window"), OVERFLOWING, ids=IDS)
def test_a_client_error_is_read_by_its_body(
    name: str, message: str, prompt: int | None, window: int | None
) -> None:
    body = {"message": message, "type": "invalid_request_error", "code": None}
    assert sizes(ClientError(400, body=body, text="Error code: 400")) == (prompt, window)


@pytest.mark.parametrize(("name", "message", "prompt", "window"), OVERFLOWING, ids=IDS)
def test_a_gateway_may_wrap_the_error_in_another_as_json(
    name: str, message: str, prompt: int | None, window: int | None
) -> None:
    inner = json.dumps({"error": {"message": message}})
    openrouter = {"message": "Provider returned error", "metadata": {"raw": inner}}
    assert sizes(ClientError(400, body=openrouter)) == (prompt, window)
    nested = json.dumps([{"error": {"message": inner, "code": 400}}])
    assert sizes(ClientError(400, body=nested)) == (prompt, window)


@pytest.mark.parametrize(("name", "message", "prompt", "window"), OVERFLOWING, ids=IDS)
def test_the_message_quotes_the_server_and_says_what_to_do(
    name: str, message: str, prompt: int | None, window: int | None
) -> None:
    found = overflow_of(RuntimeError(message))
    assert str(found).startswith(message[:60])
    assert str(found).endswith(
        ". Free some context, or set the window (or budget) to what the server allows."
    )


def test_every_row_of_the_table_is_used_by_an_example() -> None:
    used = {
        next(row.pattern for row in WORDINGS if row.pattern.search(message.replace("’", "'")))
        for _, message, _, _ in OVERFLOWING
    }
    assert [row.pattern.pattern for row in WORDINGS if row.pattern not in used] == []


@pytest.mark.parametrize(("name", "status", "message", "code"), NOT_OVERFLOWING)
def test_another_failure_is_not_taken_for_an_overflow(
    name: str, status: int, message: str, code: str | None
) -> None:
    body = {"message": message, "code": code}
    assert overflow_of(ClientError(status, body=body, text=message)) is None
    assert overflow_of(RuntimeError(message)) is None


@pytest.mark.parametrize("status", [401, 402, 403, 404, 408, 409, 429, 503, 529])
def test_a_status_that_means_something_else_wins_over_the_words(status: int) -> None:
    assert overflow_of(ClientError(status, text="prompt is too long")) is None


@pytest.mark.parametrize(
    "code",
    [
        "context_length_exceeded",
        "exceed_context_size_error",
        "model_context_window_exceeded",
        "model_max_prompt_tokens_exceeded",
        "request_too_large",
    ],
)
@pytest.mark.parametrize("field", ["code", "type"])
def test_a_code_is_enough(code: str, field: str) -> None:
    assert sizes(ClientError(400, body={"message": "No.", field: code})) == (None, None)
    assert sizes(ClientError(400, **{field: code})) == (None, None)


def test_the_sizes_of_llama_cpp_are_read_from_their_fields() -> None:
    error = {
        "code": 500,
        "message": "the request exceeds the available context size.",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 1407,
        "n_ctx": 256,
    }
    assert sizes(ClientError(500, body={"error": error})) == (1407, 256)


@pytest.mark.parametrize("body", [None, "<html>413 Request Entity Too Large</html>", {}])
def test_status_413_is_an_overflow_whatever_it_says(body: object) -> None:
    assert sizes(ClientError(413, body=body)) == (None, None)


@pytest.mark.parametrize(
    "name",
    ["ContextWindowExceededError", "ContextOverflowError", "ContextWindowOverflowException"],
)
def test_other_libraries_errors_are_known_by_name(name: str) -> None:
    base = type(name, (Exception,), {})
    assert sizes(type("Special", (base,), {})("too much")) == (None, None)


def test_the_shape_of_litellm_is_read() -> None:
    error = ClientError(
        400,
        message='litellm.BadRequestError: AnthropicException - b\'{"type":"error","error":{'
        '"message":"prompt is too long: 205668 tokens > 200000 maximum"}}\'',
    )
    assert sizes(error) == (205668, 200000)


def test_the_shape_of_botocore_is_read() -> None:
    response = {
        "Error": {
            "Message": "Input is too long for requested model.",
            "Code": "ValidationException",
        },
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }
    assert sizes(ClientError(response=response)) == (None, None)


def test_the_text_of_a_response_is_read() -> None:
    response = SimpleNamespace(
        status_code=400, text='{"message": "prompt is too long: 5 tokens > 4 maximum"}'
    )
    assert sizes(ClientError(response=response)) == (5, 4)


def test_a_response_that_was_not_read_is_no_trouble() -> None:
    class Unread:
        status_code = 400

        @property
        def text(self) -> str:
            raise RuntimeError("Attempted to access streaming response content")

    assert overflow_of(ClientError(response=Unread(), text="bad")) is None


def test_the_cause_of_an_error_is_read() -> None:
    wrapper = ValueError("The model call failed")
    wrapper.__cause__ = RuntimeError("prompt is too long: 5 tokens > 4 maximum")
    assert sizes(wrapper) == (5, 4)


def test_an_overflow_is_returned_as_it_is() -> None:
    error = ContextOverflowError("x", requested=2, window=1)
    assert overflow_of(error) is error
    assert overflow_of(ModelTimeoutError("slow")) is None


def test_words_of_the_user_that_a_validation_error_echoes_are_not_the_servers() -> None:
    echo = {"role": "user", "content": "prompt is too long: 9 tokens > 8 maximum"}
    detail = [{"loc": ["body", "messages"], "msg": "Field required", "input": [echo]}]
    error = ClientError(422, body={"detail": detail}, text=f"Error code: 422 - {detail}")
    assert overflow_of(error) is None


@pytest.mark.parametrize("server", sorted(OVERFLOWS))
def test_what_the_fake_server_says_is_understood(server: str) -> None:
    answer = OVERFLOWS[server](9000, 8192)
    told = (None, None) if server == "ollama" else (9000, 8192)
    assert sizes(ClientError(answer.status, body=answer.body.decode())) == told


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "code", "detail", "status", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(JSON, JSON, JSON)
def test_any_error_can_be_read(body: object, code: object, response: object) -> None:
    overflow_of(ClientError(body=body, code=code, response=response))


def test_a_real_openai_error_is_read() -> None:
    body: Mapping[str, object] = {"message": "too much", "code": "context_length_exceeded"}
    error = openai.APIError("Error code: 400", request=None, body=body)  # type: ignore[arg-type]
    assert overflow_of(error) is not None
