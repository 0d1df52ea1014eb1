"""What MQCONN gives: the connection, its unit of work (MQCMIT, MQBACK), and recovery of what died."""
