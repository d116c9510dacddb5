"""How many operations each kind of layer takes; `quickfit.compression.flops` adds them up.

A multiplication and the addition that goes with it are two operations. A bias, an activation and
a normalization are counted per value. What moves values without computing is free.
"""
