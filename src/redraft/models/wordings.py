"""How servers say that a request is too large for the model's window. A table and nothing else.

There is no standard for it. Each row holds a wording that servers really use and where it was seen.
Adding a server means adding a row here and a line to the test table.

Groups: `prompt` tokens of the prompt; `total` prompt and output reserve together; `output` the
output reserve; `window` the window; `excess` how far the prompt is over it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["CODES", "KINDS", "WORDINGS", "Wording"]


@dataclass(frozen=True)
class Wording:
    """One way in which servers say that a request does not fit.

    Attributes:
        server: who says it.
        seen: a public report or document that shows it.
        pattern: what to look for.
    """

    server: str
    seen: str
    pattern: re.Pattern[str]


def _row(server: str, seen: str, pattern: str) -> Wording:
    """A row; in `pattern`, `<name>` is a number that may have thousands separators, `...` a gap."""
    gap = pattern.replace("...", r".{0,200}?")
    numbered = re.sub(r"<(\w+)>", r"(?P<\1>\\d+(?:,\\d{3})*)", gap)
    return Wording(server, seen, re.compile(numbered, re.IGNORECASE | re.DOTALL))


# The more a row tells of the sizes, the earlier it stands: the first that matches is used.
WORDINGS: tuple[Wording, ...] = (
    _row(
        "OpenAI, Azure",
        "webtimemachine/wtm2#579",
        r"maximum context length is <window> tokens...messages resulted in <prompt> tokens",
    ),
    _row(
        "vLLM",
        "vllm-project/vllm#42474, gi-dellav/zerostack#22",
        r"maximum context length is <window> tokens...requested <output> output tokens and your "
        r"prompt contains (?:at least )?(?:<prompt> input tokens|\d+ characters)",
    ),
    _row(
        "vLLM, max_tokens set",
        "stepfun-ai/Step-Audio-R1#3",
        r"max_completion_tokens' is too large: <output>...maximum context length is <window> tokens "
        r"and your request has <prompt> input tokens",
    ),
    _row(
        "vLLM",
        "vllm-project/vllm#33418",
        r"maximum context length is <window> tokens...request has <prompt> input tokens",
    ),
    _row(
        "OpenAI, Azure, vLLM, DeepSeek, OpenRouter, Together",
        "vllm-project/vllm#20409, AstrBotDevs/AstrBot#1, evalstate/fast-agent#621, refly-ai/refly#1177",
        r"maximum context length is <window> tokens...requested (?:about )?<total> tokens"
        r"(?:...<output> (?:in|for) the (?:completion|output))?",
    ),
    _row(
        "OpenAI, GPT-5",
        "cline/cline#5474",
        r"input tokens exceed the configured limit of <window> tokens"
        r"(?:...messages resulted in <prompt> tokens)?",
    ),
    _row(
        "OpenAI Responses",
        "james-6-23/codex2api#415, code-yeongyu/senpi#1466",
        r"exceeds (?:the|this model's|the model's) context window",
    ),
    _row(
        "vLLM",
        "xorbitsai/inference#3785, hiyouga/LlamaFactory#7723",
        r"prompt \(?length (?:of )?<prompt>\)? is longer than the maximum model length of <window>",
    ),
    _row(
        "vLLM, images",
        "vllm-project/vllm#12165",
        r"prompt \(total length <prompt>\) is too long to fit into the model "
        r"\(context length <window>\)",
    ),
    _row(
        "vLLM, early",
        "vllm-project/vllm#13209",
        r"input prompt \(<prompt> tokens\) is too long and exceeds limit of <window>",
    ),
    _row(
        "llama.cpp",
        "ggml-org/llama.cpp#15780",
        r"request(?: \(<prompt> tokens\))? exceeds the available context size"
        r"(?: \(<window> tokens\))?",
    ),
    _row(
        "llama-cpp-python",
        "fedora-copr/logdetective#100",
        r"requested tokens \(<prompt>\) exceed context window of <window>",
    ),
    _row(
        "SGLang",
        "QwenLM/Qwen3#1321",
        r"input \(<prompt> tokens\) is longer than the model's context length \(<window> tokens\)",
    ),
    _row(
        "SGLang, max_tokens set",
        "sgl-project/sglang, tokenizer_manager.py",
        r"requested token count exceeds the model's maximum context length of <window> tokens"
        r"(?:...<prompt> tokens from the input messages and <output> tokens for the completion)?",
    ),
    _row(
        "SGLang, Poolside and others",
        "sgl-project/sglang#4048, earendil-works/pi#5677, earendil-works/pi#4943",
        r"input length \(?<prompt>(?: tokens)?\)? exceeds (?:the )?(?:model's )?maximum "
        r"(?:allowed |context )?(?:input )?length (?:of )?\(?<window>",
    ),
    _row(
        "Ollama",
        "nano-step/nano-brain#208",
        r"input (?:length )?exceeds (?:the |maximum )?context length",
    ),
    _row(
        "Ollama",
        "error tables of several public clients",
        r"prompt too long; exceeded (?:max )?context length",
    ),
    _row(
        "LM Studio",
        "lmstudio-ai/lmstudio-bug-tracker#546",
        r"keep the first <prompt> tokens when context the overflows"
        r"...context length of only <window> tokens",
    ),
    _row(
        "LM Studio",
        "anomalyco/opencode#11141",
        r"n_keep:? \(?<prompt>\)? >= n_ctx:? \(?<window>\)?",
    ),
    _row(
        "LM Studio",
        "anomalyco/opencode#2259",
        r"tokens to keep from the initial prompt is greater than the context length",
    ),
    _row(
        "LM Studio",
        "lmstudio-ai/lmstudio-bug-tracker#1251",
        r"reached context length of <window> tokens with",
    ),
    _row(
        "LM Studio, MLX",
        "lmstudio-ai/lmstudio-bug-tracker#2339",
        r"context size has been exceeded",
    ),
    _row(
        "TGI, Together",
        "huggingface/chat-ui#340, bytedance/UI-TARS-desktop#626",
        r"`inputs` tokens \+ `max_new_tokens` must be <= <window>"
        r"(?:. Given: <prompt> `inputs` tokens and <output> `max_new_tokens`)?",
    ),
    _row(
        "TGI",
        "meta-llama/llama#1103",
        r"`inputs` must have less than <window> tokens. Given: <prompt>",
    ),
    _row(
        "Anthropic, Bedrock",
        "anthropics/claude-code#12186, daisuke-awaji/moca#254",
        r"prompt is too long: <prompt> tokens > <window> maximum",
    ),
    _row(
        "Anthropic",
        "continuedev/continue#6080",
        r"input length and `?max_tokens`? exceed context limit: <prompt> \+ <output> > <window>",
    ),
    _row(
        "Fireworks",
        "fw-ai/cookbook#134",
        r"prompt is too long: <prompt>, model maximum context length: <window>",
    ),
    _row("Anthropic and others", "sojohnnysaid/project-guide#2", r"prompt is too long"),
    _row("Bedrock", "aws-samples/bedrock-chat#95", r"input is too long for requested model"),
    _row(
        "Gemini",
        "google-gemini/gemini-cli#4231, warpdotdev/warp#15662",
        r"input token count(?: \(<prompt>\))? exceeds the maximum number of tokens allowed"
        r"(?: \(?<window>\)?)?",
    ),
    _row(
        "Vertex AI",
        "google-gemini/gemini-cli#19727",
        r"input token count is <prompt> but (?:the )?model (?:only )?supports up to <window>",
    ),
    _row(
        "Mistral",
        "error tables of several public clients",
        r"prompt contains <prompt> tokens...too large for model with <window> maximum context",
    ),
    _row(
        "xAI",
        "cline/cline#3120",
        r"maximum prompt length is <window> but the request contains <prompt> tokens",
    ),
    _row(
        "Groq, Cerebras",
        "thepersonalaicompany/amurex-backend#51, cline/cline#5140",
        r"reduce the length of the messages or completion"
        r"(?:...current length is <prompt> while limit is <window>)?",
    ),
    _row(
        "GitHub Copilot",
        "ericc-ch/copilot-api#65",
        r"prompt token count of <prompt> exceeds the limit of <window>",
    ),
    _row(
        "Kimi",
        "openclaw/openclaw#9562",
        r"exceeded model token limit: <window>(?: \(requested: <prompt>\))?",
    ),
    # The number in parentheses is MiniMax's error code and not a size (MiniMax-AI/MiniMax-M2#119).
    _row("MiniMax", "MiniMax-AI/MiniMax-M2#119", r"context window exceeds limit"),
    _row(
        "Qwen on DashScope",
        "QwenLM/qwen-code#98",
        r"range of input length should be \[1, <window>\]",
    ),
    _row("Z.ai (GLM)", "zeroclaw-labs/zeroclaw#4124", r"prompt exceeds max length"),
    _row(
        "Cohere",
        "docs.cohere.com/reference/errors",
        r"too many tokens: size limit exceeded by <excess> tokens"
        r"(?:...limit for this model is <window> tokens)?",
    ),
    _row(
        "Anthropic, by bytes",
        "anthropics/anthropic-sdk-python#938",
        r"request exceeds the maximum size",
    ),
)

CODES: frozenset[str] = frozenset(
    {
        "context_length_exceeded",  # OpenAI, Azure, Groq, Cerebras
        "context_window_exceeded",
        "exceed_context_size_error",  # llama.cpp
        "model_context_window_exceeded",  # Z.ai
        "model_max_prompt_tokens_exceeded",  # GitHub Copilot
        "request_too_large",  # Anthropic, by bytes
    }
)
"""What servers put into an error's code or type, in lower case."""

KINDS: frozenset[str] = frozenset(
    {
        "ContextOverflowError",  # LangChain
        "ContextWindowExceededError",  # LiteLLM
        "ContextWindowOverflowException",  # Strands
    }
)
"""Names of the error classes that other clients have for it."""
