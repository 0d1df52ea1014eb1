"""The tasks: one operator a file. Only here MQ is reached, and only when a task runs."""
