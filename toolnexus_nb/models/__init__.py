"""Models that need no key: rehearsal, recorded, in process, small local."""
