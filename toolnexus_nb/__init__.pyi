# Made by `python .ci/build_stub.py` from the table of names in __init__.py; do not edit.
from typing import Any

from . import checks as checks
from . import models as models
from . import notebook as notebook
from . import openai as openai
from . import rounds as rounds
from . import serve as serve
from . import tools as tools
from .models.faults import list_faults as list_faults
from .models.recorded import record as record
from .notebook.panel import EventPanel as EventPanel
from .notebook.schema_view import SchemaView as SchemaView
from .notebook.session import session as session
from .notebook.tool_form import ToolForm as ToolForm
from .notebook.wire_view import WireView as WireView
from .openai.errors import APIConnectionError as APIConnectionError
from .openai.errors import APIError as APIError
from .openai.errors import APITimeoutError as APITimeoutError
from .openai.errors import AuthenticationError as AuthenticationError
from .openai.errors import BadRequestError as BadRequestError
from .openai.errors import NotFoundError as NotFoundError
from .openai.errors import PermissionDeniedError as PermissionDeniedError
from .openai.errors import RateLimitError as RateLimitError
from .openai.errors import ServerError as ServerError
from .openai.errors import StreamError as StreamError
from .openai.errors import ToolnexusError as ToolnexusError
from .openai.handler import EventHandler as EventHandler
from .openai.handler import ToolHandler as ToolHandler
from .openai.handler import combine_handlers as combine_handlers
from .openai.handler import with_tool_handler as with_tool_handler
from .openai.types import Usage as Usage
from .rounds.chat import Chat as Chat
from .rounds.client import Client as Client
from .rounds.connectors import connect as connect
from .rounds.connectors import list_connectors as list_connectors
from .rounds.connectors import register_connector as register_connector
from .rounds.result import RunResult as RunResult
from .rounds.result import RunStopped as RunStopped
from .rounds.setup_error import SetupError as SetupError
from .rounds.transport import Timeout as Timeout
from .serve.app import create_app as create_app
from .tools.adapters import from_openai as from_openai
from .tools.adapters import to_anthropic as to_anthropic
from .tools.adapters import to_gemini as to_gemini
from .tools.adapters import to_openai as to_openai
from .tools.context import ToolContext as ToolContext
from .tools.definition import JSONSchema as JSONSchema
from .tools.definition import Tool as Tool
from .tools.definition import native_tool as native_tool
from .tools.definition import tool as tool
from .tools.http import http_tool as http_tool
from .tools.linting import Finding as Finding
from .tools.linting import lint as lint
from .tools.mcp import Elicitation as Elicitation
from .tools.mcp import McpServer as McpServer
from .tools.mcp import McpServerError as McpServerError
from .tools.results import ResultPart as ResultPart
from .tools.results import ToolResult as ToolResult
from .tools.signature import SignatureError as SignatureError
from .tools.strict import StrictError as StrictError
from .tools.toolkit import Toolkit as Toolkit

__version__: str

def load_ipython_extension(shell: Any) -> None: ...
def unload_ipython_extension(shell: Any) -> None: ...
