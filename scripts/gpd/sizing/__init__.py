"""How many nodes a number of genomes takes: laws of steps, a simulated node, what follows from them, and how sure it is."""
