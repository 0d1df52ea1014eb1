"""Messages that the queue manager itself makes: expiration, COA and COD reports, dead letters."""
