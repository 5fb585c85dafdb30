"""How days and times are written in each language, where Django's own way is not ours."""
