// A small server with Node's own http module. Listens where PORT says.
const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");

const PAGE = path.join(__dirname, "index.html");

const server = http.createServer((request, response) => {
  if (request.url === "/api/time") {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ time: new Date().toISOString() }));
  } else {
    response.setHeader("content-type", "text/html; charset=utf-8");
    fs.createReadStream(PAGE).pipe(response);
  }
});

server.listen(process.env.PORT, "127.0.0.1");
