"""The verbs: inputs in, a result out. ``evaluate``, ``simulate``, ``plan``, ``audit``, ``infer``, and ``queries``."""
