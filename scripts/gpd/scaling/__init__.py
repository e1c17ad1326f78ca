"""How one step scales: over threads, over bindings, alone on a node and on a fully loaded node."""
