"""Who may connect, and who may do what: passwords, connection authentication, authority records."""
