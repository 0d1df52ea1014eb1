"""Connections of type `mq`, and what is reached by them."""
