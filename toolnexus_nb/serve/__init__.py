"""What other programs see: an OpenAI-compatible endpoint and the toolkit as an MCP server."""
