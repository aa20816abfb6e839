"""SQL statements as what a document says, and back. Clauses are read here; expressions stay the text of their user."""
