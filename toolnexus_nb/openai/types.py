"""Every type of the wire by name: requests, messages, tool calls, replies, chunks, usage.

Fields are those of the OpenAI reference; a missing key and null mean the same and read as None, "" or an empty list.
"""

from __future__ import annotations

from .content import ContentPart, ImageURL, content_text, details_text, part_text, thinking_text
from .message import FunctionDefinition, FunctionTool, Message
from .replies import (
    ChatCompletionChunk,
    ChatCompletionResponse,
    Choice,
    ChunkChoice,
    Delta,
    DeltaFunction,
    DeltaToolCall,
    ErrorDetail,
    ErrorResponse,
    Model,
    ModelsResponse,
)
from .request import (
    AudioOptions,
    ChatCompletionRequest,
    JSONSchemaFormat,
    Prediction,
    ResponseFormat,
    StreamOptions,
    ToolChoice,
    WebSearchOptions,
)
from .tool_call import ToolCall, ToolCallFunction
from .usage import CompletionTokensDetails, PromptTokensDetails, Usage
from .wire_model import as_mapping

__all__ = [
    "AudioOptions",
    "ChatCompletionChunk",
    "ChatCompletionRequest",
    "ChatCompletionResponse",
    "Choice",
    "ChunkChoice",
    "CompletionTokensDetails",
    "ContentPart",
    "Delta",
    "DeltaFunction",
    "DeltaToolCall",
    "ErrorDetail",
    "ErrorResponse",
    "FunctionDefinition",
    "FunctionTool",
    "ImageURL",
    "JSONSchemaFormat",
    "Message",
    "Model",
    "ModelsResponse",
    "Prediction",
    "PromptTokensDetails",
    "ResponseFormat",
    "StreamOptions",
    "ToolCall",
    "ToolCallFunction",
    "ToolChoice",
    "Usage",
    "WebSearchOptions",
    "as_mapping",
    "content_text",
    "details_text",
    "part_text",
    "thinking_text",
]
