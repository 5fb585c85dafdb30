"""A small app with Flask: pages are in templates/, files that are served as they are in static/."""

from flask import Flask, render_template

app = Flask(__name__)


@app.get("/")
def index():
    return render_template("index.html", title="Hello")
