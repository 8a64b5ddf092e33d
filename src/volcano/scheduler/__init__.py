"""Which pod goes where: columns, sessions, statements, plugins; an ordinary client of the API."""
