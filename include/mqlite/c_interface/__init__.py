"""The MQI's C library, and its calls as C makes them: pointers in, engine calls, pointers out."""
