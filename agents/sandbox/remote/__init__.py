"""Boxes that are computers elsewhere: what e2b and Docker have in common, over the little that each of them offers."""
