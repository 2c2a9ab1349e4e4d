"""What a model can call: functions, MCP servers, HTTP endpoints."""
