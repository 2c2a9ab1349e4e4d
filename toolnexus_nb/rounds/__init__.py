"""Asking a model, running its calls, asking again."""
