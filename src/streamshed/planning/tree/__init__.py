"""What a network's work is: a tree whose leaves are queries, with costs, demands and quantized rates ([B04] §4)."""
