"""What is said on the wire: types, streams, tool events, tokens."""
