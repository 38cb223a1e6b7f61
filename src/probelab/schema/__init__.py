"""The forms in which the stations hand data to each other, one module each."""
