"""The queue manager as MQSC and PCF commands see it."""
