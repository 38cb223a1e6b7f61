"""Predict what a launch costs from its machine code alone, without a GPU."""

from probelab.predict.launch import predict_launch

__all__ = ["predict_launch"]
