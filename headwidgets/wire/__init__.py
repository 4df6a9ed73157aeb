"""What crosses to the browser and into files. Imports nothing of ours; everything may import it."""
