"""The demonstration behind `make run` and `make up`: a bank's hub in trouble, and mqops putting it right."""
