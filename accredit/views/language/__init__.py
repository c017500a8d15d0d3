"""The language of every view: numbers, notation, phrases, colours, and which of many things are shown. No medium."""
