"""The arena: many methods explain the same inputs, and each is measured on the same game and ranked."""
