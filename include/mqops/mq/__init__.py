"""The MQI through pymqi: connections, messages as raw bytes, browsing, inquiries, and the port of the mover."""
