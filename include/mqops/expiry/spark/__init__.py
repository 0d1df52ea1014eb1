"""Forecasts of expiry on Spark."""
