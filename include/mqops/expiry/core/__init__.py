"""What is known of expiry, as values. Pure."""
