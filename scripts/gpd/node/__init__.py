"""What a node can do: memory bandwidth, latency from core to core, clocks, disks. It is measured, never assumed."""
