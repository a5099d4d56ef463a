"""Plans: a container's inside is planned, worked on, and planned anew while the rest goes on."""
