"""A network as a document: read, checked, written, and its JSON Schema."""
