"""A small app with FastAPI: the page is index.html, the data comes from /api/."""

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse

app = FastAPI()
HERE = Path(__file__).parent


@app.get("/", include_in_schema=False)
def index() -> FileResponse:
    return FileResponse(HERE / "index.html")


@app.get("/api/greeting")
def greeting(name: str = "you") -> dict[str, str]:
    return {"greeting": f"Hello, {name}"}
