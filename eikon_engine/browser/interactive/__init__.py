"""Observe what a person does in a browser and describe the elements they act on."""
