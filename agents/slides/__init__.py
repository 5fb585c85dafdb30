"""Presentations: what a deck is (`deck`), where everything stands on a slide (`layout`), and two that follow it: a file
for PowerPoint (`powerpoint`) and a picture (`pictures`). So a preview shows what the file does, on any machine."""
