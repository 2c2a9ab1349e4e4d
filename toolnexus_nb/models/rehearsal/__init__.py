"""The rehearsal model: a small readable planner that speaks like a real endpoint."""
