"""The commands. Each is thin: it reads its options and calls one verb of another room."""
