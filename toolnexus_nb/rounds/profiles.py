"""What is known about endpoints, as data: where they are, which variable holds their key, what they want to be sent.

Rows name the quirks of `reference/quirks.md` they answer. A provider that needs something else gets a row or a field
here and never an `if` with its name elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Profile:
    """One kind of endpoint.

    * `base_url`, `key_variables` (the first that is set is used), `key_header` and `key_prefix`: how to get in
    * `no_text`: what a message with calls and no text has as content (I03)
    * `call_ids`: "nine" maps ids to nine letters and digits (I08)
    * `answer_before_user`: a user message may not follow a tool message (I09)
    * `reasoning`: whether `reasoning_content` goes back: never, within the tool rounds of one question, or always (C04)
    * `echo_message`, `echo_call`: further keys of a message or a call that go back as they came (C03, C05, I10)
    * `stream_options`: whether usage is asked for in a stream (J04)
    * `tool_choice_text_only`: a named tool_choice becomes "required" with that one tool (J02)
    * `structured`: how `returns=` is asked for: a response_format or a forced tool
    * `retry_codes`: error codes that are the model's fault and may be tried again (E04)
    * `drop_schema_words`: schema keywords it refuses (H05)
    """

    name: str
    base_url: str = ""
    key_variables: tuple[str, ...] = ()
    key_needed: bool = True
    key_header: str = "authorization"
    key_prefix: str = "Bearer "
    summary: str = ""
    tested: bool = False
    no_text: Literal["null", "empty"] = "null"
    call_ids: Literal["any", "nine"] = "any"
    answer_before_user: bool = False
    reasoning: Literal["never", "rounds", "always"] = "never"
    echo_message: frozenset[str] = frozenset()
    echo_call: frozenset[str] = frozenset()
    stream_options: bool = True
    tool_choice_text_only: bool = False
    structured: Literal["response_format", "tool"] = "response_format"
    retry_codes: frozenset[str] = frozenset({"tool_use_failed"})
    drop_schema_words: frozenset[str] = frozenset()
    max_tools: int | None = None
    max_description: int | None = None
    query: dict[str, str] = field(default_factory=dict)


_GATEWAY_ECHO = frozenset({"reasoning_details", "extra_content", "thought_signature"})
_GEMINI_CALL_ECHO = frozenset({"extra_content", "thought_signature"})

GENERIC = Profile(
    name="generic",
    summary="any OpenAI-compatible endpoint",
    key_needed=False,
    reasoning="rounds",
    echo_message=_GATEWAY_ECHO,
    echo_call=_GEMINI_CALL_ECHO,
)
"""An address nobody described: what it sent is given back within a question, since it may be a gateway to anything."""

_LOCAL = replace(GENERIC, name="local server", reasoning="rounds", echo_message=frozenset(), echo_call=frozenset())

PRESETS: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            "openai",
            "https://api.openai.com/v1",
            ("OPENAI_API_KEY",),
            summary="OpenAI",
            max_tools=128,
            max_description=1024,
        ),
        Profile(
            "openrouter",
            "https://openrouter.ai/api/v1",
            ("OPENROUTER_API_KEY",),
            summary="many models behind one key",
            reasoning="rounds",
            echo_message=frozenset({"reasoning", "reasoning_details", "extra_content"}),
            echo_call=_GEMINI_CALL_ECHO,
        ),
        Profile("groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",), summary="Groq"),
        Profile("together", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",), summary="Together AI"),
        Profile(
            "mistral",
            "https://api.mistral.ai/v1",
            ("MISTRAL_API_KEY",),
            summary="Mistral",
            no_text="empty",
            call_ids="nine",
            answer_before_user=True,
            stream_options=False,
        ),
        Profile(
            "deepseek",
            "https://api.deepseek.com/v1",
            ("DEEPSEEK_API_KEY",),
            summary="DeepSeek",
            reasoning="rounds",
            structured="tool",
        ),
        Profile(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            summary="Google Gemini",
            echo_message=frozenset({"extra_content"}),
            echo_call=_GEMINI_CALL_ECHO,
            drop_schema_words=frozenset(
                {
                    "$schema",
                    "additionalProperties",
                    "exclusiveMinimum",
                    "exclusiveMaximum",
                    "multipleOf",
                    "uniqueItems",
                    "const",
                    "title",
                    "pattern",
                }
            ),
        ),
        Profile("fireworks", "https://api.fireworks.ai/inference/v1", ("FIREWORKS_API_KEY",), summary="Fireworks AI"),
        Profile("xai", "https://api.x.ai/v1", ("XAI_API_KEY",), summary="xAI"),
        Profile(
            "azure",
            "",
            ("AZURE_OPENAI_API_KEY",),
            summary="Azure OpenAI: azure:RESOURCE, or base_url=https://RESOURCE.openai.azure.com/openai/v1",
            key_header="api-key",
            key_prefix="",
            max_tools=128,
            max_description=1024,
        ),
        replace(_LOCAL, name="ollama", base_url="http://localhost:11434/v1", summary="Ollama on this machine"),
        replace(
            _LOCAL,
            name="lmstudio",
            base_url="http://localhost:1234/v1",
            summary="LM Studio on this machine",
            no_text="empty",
            tool_choice_text_only=True,
        ),
        replace(_LOCAL, name="vllm", base_url="http://localhost:8000/v1", summary="vLLM on this machine"),
        replace(
            _LOCAL,
            name="llama.cpp",
            base_url="http://localhost:8080/v1",
            summary="llama.cpp's server on this machine",
            tool_choice_text_only=True,
            tested=True,
        ),
    )
}

_HOSTS = {
    urlsplit(profile.base_url).hostname: profile
    for profile in PRESETS.values()
    if profile.base_url.startswith("https://")
}
_PORTS = {
    urlsplit(profile.base_url).port: profile for profile in PRESETS.values() if profile.base_url.startswith("http://")
}


def profile_for(base_url: str) -> Profile:
    """The profile of an address: by host, by Azure's domain, by a local server's usual port, else `GENERIC`."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if host in _HOSTS:
        return _HOSTS[host]
    if host.endswith((".openai.azure.com", ".services.ai.azure.com")):
        return PRESETS["azure"]
    if host in ("localhost", "127.0.0.1", "::1") and parts.port in (11434, 1234):
        return _PORTS[parts.port]
    return GENERIC
