"""The embedded queue manager: an engine on SQLite behind the MQI's C ABI. Knows mqwire only."""
