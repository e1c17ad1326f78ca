#!/bin/bash
# What sbatch is given: a command and its arguments, which are run as they are. Slurm's signals reach the command itself.
exec "$@"
