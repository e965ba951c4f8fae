"""The servers of the corpus's world, one module each. `world.build` puts them together."""
