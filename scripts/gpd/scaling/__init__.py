"""How one step scales: over threads, over bindings, alone on a node and with the node full of its like."""
