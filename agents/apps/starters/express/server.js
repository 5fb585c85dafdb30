// A small server with Express. Listens where PORT says.
const express = require("express");

const app = express();

app.use(express.static("public"));
app.get("/api/time", (request, response) => response.json({ time: new Date().toISOString() }));
app.listen(process.env.PORT, "127.0.0.1");
