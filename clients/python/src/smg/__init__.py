"""Clients for the SMG model gateway.

:mod:`smg.rl` speaks to the RL control plane. Inference needs no client of its own: point an OpenAI, SGLang or Anthropic
client at the gateway.
"""

__version__ = "0.1.0"

__all__ = ["__version__"]
